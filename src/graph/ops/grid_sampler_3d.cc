#include "graph/grid_sample.h"
#include "graph/op.h"

namespace hone::op_grid_sampler_3d {

HONE_OP(grid_sampler_3d,
        "input at the places in [-1, 1] that grid names: linear or nearest, zeros, the edge or a mirror beyond") {
  DefineGridSample(call, 3);
}

}  // namespace hone::op_grid_sampler_3d
