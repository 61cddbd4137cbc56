#include "graph/interpolate.h"

namespace hone {

HONE_OP(_upsample_nearest_exact1d, "the element at floor((place + 1/2) * in / out)") {
  DefineInterpolation(call, Interpolation::kNearestExact, 1);
}

}  // namespace hone
