#include "graph/moments.h"

namespace hone::op_var {

HONE_OP(var, "mean square distance from the mean over dim, with Bessel correction unless told otherwise") {
  DefineMoments(call, Moment::kVar, false);
}

}  // namespace hone::op_var
