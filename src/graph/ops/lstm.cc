#include "graph/recurrent.h"

namespace hone::op_lstm {

HONE_OP(lstm,
        "layers of long short-term memory over the steps of input: all hidden values, the last ones, the last cells") {
  DefineRecurrent(call, Cell::kLstm);
}

}  // namespace hone::op_lstm
