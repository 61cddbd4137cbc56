#include "graph/op.h"

namespace hone::op_norm {

HONE_OP(norm, "(sum over dim of |self|^p)^(1/p)") { FindOp("linalg_vector_norm")->define(call); }

}  // namespace hone::op_norm
