#include "graph/random.h"

namespace hone::op_native_dropout {

HONE_OP(native_dropout, "input / (1 - p) where a draw keeps it, else 0; and what is kept (graph/random.h)") {
  DefineDropout(call, call.Bool("train", true), false, true);
}

}  // namespace hone::op_native_dropout
