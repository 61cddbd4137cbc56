#include "graph/scatter.h"

namespace hone {

HONE_OP(_unsafe_index, "self at the places that indices name") { FindOp("index")->define(call); }

}  // namespace hone
