#include "graph/interpolate.h"

namespace hone::op_upsample_bicubic2d {

HONE_OP(upsample_bicubic2d, "Keys' cubic interpolation with a = -0.75") {
  DefineInterpolation(call, Interpolation::kCubic, 2);
}

}  // namespace hone::op_upsample_bicubic2d
