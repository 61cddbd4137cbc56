// Resizing of the last dimensions of [n, c, ...]: nearest, linear and cubic. Places are exact fractions of whole
// numbers, so that no rounding decides which element is read but where a place that is exactly an element's may come
// out before it.
#pragma once

#include <functional>

#include "graph/op.h"

namespace hone {

enum class Interpolation { kNearest, kNearestExact, kLinear, kCubic };
// The sum of four neighbours, 0 to 3, by their weights, of a place that is `t` of a step behind the second of them:
// Keys' cubic with a = -0.75, as PyTorch has it.
Expr CubicSum(const Expr& t, const std::function<Expr(int)>& neighbour);
// Arguments self (or input), output_size, scale_factors or scales_d, scales_h, scales_w (scales), align_corners.
void DefineInterpolation(OpCall& call, Interpolation how, int spatial);
// Linear or cubic, of images [n, c, h, w], with windows as wide as a step of the result where that is the wider one
// (antialias=True).
void DefineSmoothInterpolation(OpCall& call, Interpolation how);

}  // namespace hone
