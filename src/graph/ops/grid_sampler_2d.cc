#include "graph/grid_sample.h"
#include "graph/op.h"

namespace hone::op_grid_sampler_2d {

HONE_OP(grid_sampler_2d,
        "input at the places in [-1, 1] that grid names: bilinear, nearest or bicubic, zeros, the edge or a mirror "
        "beyond") {
  DefineGridSample(call, 2);
}

}  // namespace hone::op_grid_sampler_2d
