#include "graph/scatter.h"

namespace hone::op__unsafe_index {

HONE_OP(_unsafe_index, "self at the places that indices name") { FindOp("index")->define(call); }

}  // namespace hone::op__unsafe_index
