#include "graph/padding.h"

namespace hone::op_reflection_pad1d {

HONE_OP(reflection_pad1d, "self with its mirror image around it; padding counts from the last dimension") {
  DefineEdgePadding(call, EdgePadding::kReflect, 1);
}

}  // namespace hone::op_reflection_pad1d
