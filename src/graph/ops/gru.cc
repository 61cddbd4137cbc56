#include "graph/recurrent.h"

namespace hone::op_gru {

HONE_OP(gru, "layers of gated recurrent units over the steps of input: all hidden values, and the last ones") {
  DefineRecurrent(call, Cell::kGru);
}

}  // namespace hone::op_gru
