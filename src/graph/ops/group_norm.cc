#include "graph/op.h"

namespace hone::op_group_norm {

HONE_OP(group_norm, "(input - mean) * rsqrt(var + eps) * weight + bias over each group of channels") {
  FindOp("native_group_norm")->define(call);  // its first result
}

}  // namespace hone::op_group_norm
