#include "graph/interpolate.h"

namespace hone {

HONE_OP(upsample_nearest2d, "the element at floor(place * in / out)") {
  DefineInterpolation(call, Interpolation::kNearest, 2);
}

}  // namespace hone
