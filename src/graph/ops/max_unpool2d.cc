#include "graph/window.h"

namespace hone::op_max_unpool2d {

HONE_OP(max_unpool2d, "self at the places that indices names, zero elsewhere") { DefineMaxUnpool(call, 2); }

}  // namespace hone::op_max_unpool2d
