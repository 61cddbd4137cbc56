#include "graph/padding.h"

namespace hone::op_reflection_pad3d {

HONE_OP(reflection_pad3d, "self with its mirror image around it; padding counts from the last dimension") {
  DefineEdgePadding(call, EdgePadding::kReflect, 3);
}

}  // namespace hone::op_reflection_pad3d
