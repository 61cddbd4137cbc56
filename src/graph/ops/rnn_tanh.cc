#include "graph/recurrent.h"

namespace hone::op_rnn_tanh {

HONE_OP(rnn_tanh,
        "layers of h = tanh(W x + b + U h + c) over the steps of input: all hidden values, and the last ones") {
  DefineRecurrent(call, Cell::kTanh);
}

}  // namespace hone::op_rnn_tanh
