#include "graph/interpolate.h"

namespace hone::op_upsample_nearest1d {

HONE_OP(upsample_nearest1d, "the element at floor(place * in / out)") {
  DefineInterpolation(call, Interpolation::kNearest, 1);
}

}  // namespace hone::op_upsample_nearest1d
