#include "graph/interpolate.h"

namespace hone::op__upsample_nearest_exact2d {

HONE_OP(_upsample_nearest_exact2d, "the element at floor((place + 1/2) * in / out)") {
  DefineInterpolation(call, Interpolation::kNearestExact, 2);
}

}  // namespace hone::op__upsample_nearest_exact2d
