#include "graph/interpolate.h"

namespace hone::op_upsample_bilinear2d {

HONE_OP(upsample_bilinear2d, "the mean of the elements around each place, weighted by how near they are") {
  DefineInterpolation(call, Interpolation::kLinear, 2);
}

}  // namespace hone::op_upsample_bilinear2d
