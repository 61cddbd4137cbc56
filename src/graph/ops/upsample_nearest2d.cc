#include "graph/interpolate.h"

namespace hone::op_upsample_nearest2d {

HONE_OP(upsample_nearest2d, "the element at floor(place * in / out)") {
  DefineInterpolation(call, Interpolation::kNearest, 2);
}

}  // namespace hone::op_upsample_nearest2d
