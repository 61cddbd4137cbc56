#include "graph/op.h"

namespace hone::op__native_batch_norm_legit_functional {

HONE_OP(_native_batch_norm_legit_functional, "native_batch_norm in the form that torch.export gives") {
  FindOp("native_batch_norm")->define(call);
}

}  // namespace hone::op__native_batch_norm_legit_functional
