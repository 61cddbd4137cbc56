#include "graph/scatter.h"

namespace hone {

HONE_OP(_unsafe_index_put, "self with values at the places that indices name") { DefineIndexPut(call); }

}  // namespace hone
