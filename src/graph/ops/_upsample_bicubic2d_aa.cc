#include "graph/interpolate.h"

namespace hone::op__upsample_bicubic2d_aa {

HONE_OP(_upsample_bicubic2d_aa,
        "Keys' cubic interpolation with a = -0.5, whose windows are as wide as a step of the result") {
  DefineSmoothInterpolation(call, Interpolation::kCubic);
}

}  // namespace hone::op__upsample_bicubic2d_aa
