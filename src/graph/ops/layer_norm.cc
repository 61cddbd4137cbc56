#include "graph/op.h"

namespace hone::op_layer_norm {

HONE_OP(layer_norm, "(input - mean) * rsqrt(var + eps) * weight + bias over the last dimensions") {
  FindOp("native_layer_norm")->define(call);  // its first result
}

}  // namespace hone::op_layer_norm
