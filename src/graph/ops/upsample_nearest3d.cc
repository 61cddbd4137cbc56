#include "graph/interpolate.h"

namespace hone {

HONE_OP(upsample_nearest3d, "the element at floor(place * in / out)") {
  DefineInterpolation(call, Interpolation::kNearest, 3);
}

}  // namespace hone
