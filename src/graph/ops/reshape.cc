#include "graph/op.h"

namespace hone::op_reshape {

HONE_OP(reshape, "the same elements in row-major order under another shape; one extent may be -1") {
  FindOp("view")->define(call);
}

}  // namespace hone::op_reshape
