// Statistics of repeated measurements. Pure.
#pragma once

#include <optional>
#include <vector>

#include "verdict/verdict.h"

namespace hone {

double Median(std::vector<double> values);  // 0 of none
// The 95 % confidence interval of the median from order statistics: no assumption on the distribution. Below 6 values
// even the whole range covers less than 95 %: there is none then.
std::optional<Interval> MedianInterval(std::vector<double> values);
Samples Summarize(const std::vector<double>& microseconds);

}  // namespace hone
