#include "dsl/shape/attention_weights.h"

#include <cmath>

namespace hone::dsl {

bool WeighsBySoftmax(const Kernel& kernel) { return kernel.attributes.at("softmax")[0] != 0; }

double HiddenScore(const Kernel& kernel) { return WeighsBySoftmax(kernel) ? -INFINITY : 0; }

bool ReadsRowSum(const Kernel& kernel) { return UsesValue(kernel.epilogue, kRowSum); }

std::optional<std::string> CheckSoftmax(const Kernel& kernel) {
  if (WeighsBySoftmax(kernel)) return std::nullopt;
  return "it weighs values by a softmax, and here the scores are the weights";
}

}  // namespace hone::dsl
