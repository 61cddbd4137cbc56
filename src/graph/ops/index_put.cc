#include "graph/scatter.h"

namespace hone::op_index_put {

HONE_OP(index_put, "self with values at the places that indices name") { DefineIndexPut(call); }

}  // namespace hone::op_index_put
