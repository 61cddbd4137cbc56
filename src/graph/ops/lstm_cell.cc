#include "graph/recurrent.h"

namespace hone {

HONE_OP(lstm_cell, "one step of lstm: the hidden values and the cells") { DefineRecurrentCell(call, Cell::kLstm); }

}  // namespace hone
