#include "graph/op.h"

namespace hone::op_empty_permuted {

HONE_OP(empty_permuted, "0 everywhere, of the shape size: what PyTorch leaves undefined") {
  call.Ignore({"physical_layout"});
  FindOp("empty")->define(call);
}

}  // namespace hone::op_empty_permuted
