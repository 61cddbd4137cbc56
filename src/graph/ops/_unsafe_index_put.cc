#include "graph/scatter.h"

namespace hone::op__unsafe_index_put {

HONE_OP(_unsafe_index_put, "self with values at the places that indices name") { DefineIndexPut(call); }

}  // namespace hone::op__unsafe_index_put
