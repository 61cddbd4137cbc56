#include "graph/recurrent.h"

namespace hone::op_rnn_relu_cell {

HONE_OP(rnn_relu_cell, "max(w_ih input + b_ih + w_hh hx + b_hh, 0)") { DefineRecurrentCell(call, Cell::kRelu); }

}  // namespace hone::op_rnn_relu_cell
