// What a reduce folds and what it makes of that, whatever it runs on.
#pragma once

#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/fold_pass.h"

namespace hone::dsl {

// argmax, argmin.
bool FindsPlace(const Kernel& kernel);

struct Reduction {
  FoldPass::Item item;
  Expr result;  // of lets, the item's among them
};
Reduction ReductionOf(const Kernel& kernel);
// With the lets: beside those that need no other.
std::vector<FoldPass> ReductionPasses(const Kernel& kernel, const Reduction& one);

// The same as a nest.
Kernel AsNest(const Kernel& kernel);

}  // namespace hone::dsl
