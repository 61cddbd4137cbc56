#include "graph/recurrent.h"

namespace hone {

HONE_OP(gru_cell, "one step of gru") { DefineRecurrentCell(call, Cell::kGru); }

}  // namespace hone
