#include "graph/interpolate.h"

namespace hone::op_upsample_nearest3d {

HONE_OP(upsample_nearest3d, "the element at floor(place * in / out)") {
  DefineInterpolation(call, Interpolation::kNearest, 3);
}

}  // namespace hone::op_upsample_nearest3d
