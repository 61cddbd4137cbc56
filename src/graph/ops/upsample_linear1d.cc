#include "graph/interpolate.h"

namespace hone::op_upsample_linear1d {

HONE_OP(upsample_linear1d, "the mean of the elements around each place, weighted by how near they are") {
  DefineInterpolation(call, Interpolation::kLinear, 1);
}

}  // namespace hone::op_upsample_linear1d
