#include "graph/moments.h"

namespace hone {

HONE_OP(var, "mean square distance from the mean over dim, with Bessel correction unless told otherwise") {
  DefineMoments(call, Moment::kVar, false);
}

}  // namespace hone
