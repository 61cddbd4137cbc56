#include "graph/padding.h"

namespace hone::op_replication_pad2d {

HONE_OP(replication_pad2d, "self with its edge repeated around it; padding counts from the last dimension") {
  DefineEdgePadding(call, EdgePadding::kReplicate, 2);
}

}  // namespace hone::op_replication_pad2d
