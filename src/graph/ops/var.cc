#include "graph/op.h"

namespace hone {

HONE_OP(var, "mean square distance from the mean over dim, with Bessel correction unless told otherwise") {
  FindOp("var_mean")->define(call);  // its first result
}

}  // namespace hone
