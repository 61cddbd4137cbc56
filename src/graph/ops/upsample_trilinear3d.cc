#include "graph/interpolate.h"

namespace hone::op_upsample_trilinear3d {

HONE_OP(upsample_trilinear3d, "the mean of the elements around each place, weighted by how near they are") {
  DefineInterpolation(call, Interpolation::kLinear, 3);
}

}  // namespace hone::op_upsample_trilinear3d
