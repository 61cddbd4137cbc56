#include "graph/padding.h"

namespace hone::op_reflection_pad2d {

HONE_OP(reflection_pad2d, "self with its mirror image around it; padding counts from the last dimension") {
  DefineEdgePadding(call, EdgePadding::kReflect, 2);
}

}  // namespace hone::op_reflection_pad2d
