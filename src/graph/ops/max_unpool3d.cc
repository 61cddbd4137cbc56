#include "graph/window.h"

namespace hone::op_max_unpool3d {

HONE_OP(max_unpool3d, "self at the places that indices names, zero elsewhere") { DefineMaxUnpool(call, 3); }

}  // namespace hone::op_max_unpool3d
