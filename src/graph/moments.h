// Mean and variance in two passes: what var, std, var_mean and std_mean share.
#pragma once

#include "graph/op.h"

namespace hone {

enum class Moment { kVar, kStd };
// Arguments self, dim, keepdim, correction or unbiased. Outputs the variance or its root, then the mean if asked for.
void DefineMoments(OpCall& call, Moment moment, bool with_mean);

}  // namespace hone
