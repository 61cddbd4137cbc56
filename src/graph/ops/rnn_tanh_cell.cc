#include "graph/recurrent.h"

namespace hone::op_rnn_tanh_cell {

HONE_OP(rnn_tanh_cell, "tanh(w_ih input + b_ih + w_hh hx + b_hh)") { DefineRecurrentCell(call, Cell::kTanh); }

}  // namespace hone::op_rnn_tanh_cell
