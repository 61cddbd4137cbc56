// What convolutions, pools and attention mean, slowly and in double: for tests only. Each function calls `value` with
// places in the kernel's iteration space and gives `it`.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl::testing {

// Input i at the places; behind the inputs comes the let, of the given `it`.
using ReadInput = std::function<double(std::size_t i, double it)>;

// `at` has one place a dimension of the space, of which those of the result are set.
inline double ConvolutionAt(const Kernel& kernel, std::vector<std::int64_t>& at, const ReadInput& input) {
  const std::size_t spatial = (kernel.space.size() - 5) / 3;
  const std::size_t c = 2 + spatial, in = 3 + 2 * spatial, made = kernel.space.size() - 1;
  const auto extent = [&](std::size_t d) { return kernel.space[d].extent; };
  const std::int64_t group = at[1] / extent(made);
  at[made] = at[1] % extent(made);
  double sum = 0;
  const std::function<void(std::size_t)> visit = [&](std::size_t d) {
    if (d == spatial) {
      sum += input(0, 0) * input(1, 0);
      return;
    }
    const std::int64_t stride = kernel.attributes.at("stride")[d], padding = kernel.attributes.at("padding")[d],
                       dilation = kernel.attributes.at("dilation")[d];
    for (std::int64_t k = 0; k < extent(c + 1 + d); ++k) {
      std::int64_t place = at[2 + d] * stride + k * dilation - padding;
      if (kernel.variant == "transposed") {
        place = at[2 + d] + padding - k * dilation;
        if (place % stride != 0) continue;
        place /= stride;
      }
      if (place < 0 || place >= extent(in + 1 + d)) continue;
      at[c + 1 + d] = k;
      at[in + 1 + d] = place;
      visit(d + 1);
    }
  };
  for (at[c] = 0; at[c] < extent(c); ++at[c]) {
    at[in] = group * extent(c) + at[c];
    visit(0);
  }
  return sum;
}

// The interpreter's `it` of a pool: the windows' places as above.
inline double PoolAt(const Kernel& kernel, std::vector<std::int64_t>& at, const ReadInput& input) {
  const auto& attributes = kernel.attributes;
  const std::size_t axes = attributes.at("over").size(), rank = kernel.space.size() - 2 * axes;
  const bool largest = kernel.variant == "max" || kernel.variant == "argmax";
  double value = largest ? -INFINITY : 0, place_of = -1, count = 0;
  const std::function<void(std::size_t, bool, std::int64_t, bool)> visit = [&](std::size_t a, bool inside,
                                                                               std::int64_t flat, bool counts) {
    if (a == axes) {
      const std::int64_t how = attributes.at("inside")[0];
      count += how == 0 || (how == 1 && inside) || (how == 2 && counts) ? 1 : 0;
      if (!inside) return;
      const double x = input(0, 0);
      if (!largest) {
        value += x;
      } else if (place_of < 0 || x > value || (std::isnan(x) && !std::isnan(value))) {
        value = x;
        place_of = static_cast<double>(flat);
      }
      return;
    }
    const std::int64_t in = kernel.space[rank + axes + a].extent, padding = attributes.at("padding")[a];
    for (std::int64_t k = 0; k < attributes.at("window")[a]; ++k) {
      const std::int64_t place = at[static_cast<std::size_t>(attributes.at("over")[a])] * attributes.at("stride")[a] +
                                 k * attributes.at("dilation")[a] - padding;
      const bool here = place >= 0 && place < in;
      at[rank + axes + a] = here ? place : 0;
      visit(a + 1, inside && here, flat * in + place, counts && place < in + padding);
    }
  };
  visit(0, true, 0, true);
  return kernel.variant == "argmax" ? place_of : kernel.variant == "mean" ? value / count : value;
}

// The place of q's row i is the result's; every key's score first, then the values by their weights.
inline double AttentionAt(const Kernel& kernel, std::vector<std::int64_t>& at, const ReadInput& input) {
  const std::size_t rank = kernel.space.size(), m = rank - 4, n = rank - 2, d = rank - 1;
  const bool causal = kernel.attributes.at("causal")[0] != 0;
  std::vector<double> scores;
  double top = -INFINITY, total = 0, value = 0;
  for (at[n] = 0; at[n] < kernel.space[n].extent; ++at[n]) {
    double score = 0;
    for (at[d] = 0; at[d] < kernel.space[d].extent; ++at[d]) score += input(0, 0) * input(1, 0);
    at[d] = 0;
    if (!kernel.lets.empty()) score = input(3, score);
    if (causal && at[n] > at[m]) score = -INFINITY;
    scores.push_back(score);
    top = std::fmax(top, score);
  }
  for (at[n] = 0; at[n] < kernel.space[n].extent; ++at[n]) {
    const double weight = std::exp(scores[static_cast<std::size_t>(at[n])] - top);
    total += weight;
    if (weight != 0) value += weight * input(2, 0);
  }
  at[n] = 0;
  return value / total;
}

using WindowValue = double (*)(const Kernel&, std::vector<std::int64_t>&, const ReadInput&);
inline WindowValue WindowFamily(std::string_view family) {
  if (family == "conv") return ConvolutionAt;
  if (family == "pool") return PoolAt;
  if (family == "attention") return AttentionAt;
  return nullptr;
}

}  // namespace hone::dsl::testing
