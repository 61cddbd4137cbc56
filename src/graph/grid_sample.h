// An input at the places that a grid names, of two or three dimensions.
#pragma once

#include "graph/op.h"

namespace hone {

// Arguments input [n, c, ...], grid [n, ..., spatial], whose last dimension names a place in [-1, 1] backwards, x
// first, interpolation_mode (0 linear, 1 nearest, 2 cubic, in two dimensions alone), padding_mode (0 zeros, 1 the edge,
// 2 a mirror beyond) and align_corners.
void DefineGridSample(OpCall& call, int spatial);

}  // namespace hone
