#include "graph/random.h"

namespace hone::op_dropout {

HONE_OP(dropout, "input / (1 - p) where a draw keeps it, else 0 (graph/random.h); input when not in training") {
  DefineDropout(call, call.Bool("train"), false, false);
}

}  // namespace hone::op_dropout
