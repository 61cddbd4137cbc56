// By what attention weighs its values: by the softmax of a query's scores, or by the scores themselves (`softmax: 0`),
// which are not divided by their sum then.
#pragma once

#include <optional>
#include <string>

#include "dsl/kernel.h"

namespace hone::dsl {

bool WeighsBySoftmax(const Kernel& kernel);
// The score of a key that has no weight: -inf, or 0.
double HiddenScore(const Kernel& kernel);
// Whether it reads what its row's weights, or exponentials, add up to.
bool ReadsRowSum(const Kernel& kernel);
// Why a way that has softmaxes alone does not take the kernel; or nothing.
std::optional<std::string> CheckSoftmax(const Kernel& kernel);

}  // namespace hone::dsl
