#include "graph/interpolate.h"

namespace hone {

HONE_OP(upsample_bicubic2d, "Keys' cubic interpolation with a = -0.75") {
  DefineInterpolation(call, Interpolation::kCubic, 2);
}

}  // namespace hone
