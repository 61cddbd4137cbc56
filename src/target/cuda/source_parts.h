// Sources whose kernels share nothing, in parts that are compiled side by side: of a network of some hundred layers a
// compiler makes the kernels one after the other, which takes longer than all else of a first verdict.
#pragma once

#include "candidate/plan.h"

namespace hone::cuda {

// The same plan with each source that is `apart` and long in several: what precedes its first kernel, and some of its
// kernels. Every line keeps its number. The first part keeps the source's name, the others have theirs behind it.
Plan InParts(const Plan& plan);

}  // namespace hone::cuda
