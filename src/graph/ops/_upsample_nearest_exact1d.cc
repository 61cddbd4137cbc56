#include "graph/interpolate.h"

namespace hone::op__upsample_nearest_exact1d {

HONE_OP(_upsample_nearest_exact1d, "the element at floor((place + 1/2) * in / out)") {
  DefineInterpolation(call, Interpolation::kNearestExact, 1);
}

}  // namespace hone::op__upsample_nearest_exact1d
