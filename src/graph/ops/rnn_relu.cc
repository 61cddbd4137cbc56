#include "graph/recurrent.h"

namespace hone::op_rnn_relu {

HONE_OP(rnn_relu,
        "layers of h = max(W x + b + U h + c, 0) over the steps of input: all hidden values, and the last ones") {
  DefineRecurrent(call, Cell::kRelu);
}

}  // namespace hone::op_rnn_relu
