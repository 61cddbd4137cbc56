#include "graph/interpolate.h"

namespace hone {

HONE_OP(upsample_linear1d, "the mean of the elements around each place, weighted by how near they are") {
  DefineInterpolation(call, Interpolation::kLinear, 1);
}

}  // namespace hone
