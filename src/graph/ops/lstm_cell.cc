#include "graph/recurrent.h"

namespace hone::op_lstm_cell {

HONE_OP(lstm_cell, "one step of lstm: the hidden values and the cells") { DefineRecurrentCell(call, Cell::kLstm); }

}  // namespace hone::op_lstm_cell
