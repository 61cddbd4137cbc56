#include "graph/interpolate.h"

namespace hone::op__upsample_bilinear2d_aa {

HONE_OP(_upsample_bilinear2d_aa, "linear interpolation whose windows are as wide as a step of the result") {
  DefineSmoothInterpolation(call, Interpolation::kLinear);
}

}  // namespace hone::op__upsample_bilinear2d_aa
