#include "graph/recurrent.h"

namespace hone::op_gru_cell {

HONE_OP(gru_cell, "one step of gru") { DefineRecurrentCell(call, Cell::kGru); }

}  // namespace hone::op_gru_cell
