#include "graph/padding.h"

namespace hone::op_replication_pad3d {

HONE_OP(replication_pad3d, "self with its edge repeated around it; padding counts from the last dimension") {
  DefineEdgePadding(call, EdgePadding::kReplicate, 3);
}

}  // namespace hone::op_replication_pad3d
