// The root mean square norm, under its two names.
#pragma once

#include "graph/op.h"

namespace hone {

// input * rsqrt(mean of input^2 + eps) * weight over the last dimensions; then the factor of each row if `with_factor`.
void DefineRmsNorm(OpCall& call, bool with_factor);

}  // namespace hone
