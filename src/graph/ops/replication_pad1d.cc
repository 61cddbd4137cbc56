#include "graph/padding.h"

namespace hone::op_replication_pad1d {

HONE_OP(replication_pad1d, "self with its edge repeated around it; padding counts from the last dimension") {
  DefineEdgePadding(call, EdgePadding::kReplicate, 1);
}

}  // namespace hone::op_replication_pad1d
