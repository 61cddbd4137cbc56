// What convolutions, pools and attention mean, slowly and in double: for tests only. Each function calls `value` with
// places in the kernel's iteration space and gives `it`.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/shape/pages.h"

namespace hone::dsl::testing {

// Input i at the places; behind the inputs comes the let, of the given `it`.
using ReadInput = std::function<double(std::size_t i, double it)>;
// What attention has at hand from one element to the next, which come in the order of the result: a batch's keys and
// values, a row's scores.
struct Kept {
  std::vector<double> keys, values, scores;
  double row_sum = 0;  // what the row's function is
};

// `at` has one place a dimension of the space, of which those of the result are set.
inline double ConvolutionAt(const Kernel& kernel, std::vector<std::int64_t>& at, const ReadInput& input,
                            Kept& /*kept*/) {
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
inline double PoolAt(const Kernel& kernel, std::vector<std::int64_t>& at, const ReadInput& input, Kept& /*kept*/) {
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

// The place of q's row i is the result's; every key's score first, once a row, then the values by their weights.
inline double AttentionAt(const Kernel& kernel, std::vector<std::int64_t>& at, const ReadInput& input, Kept& kept) {
  const std::size_t rank = kernel.space.size(), m = rank - 4, e = rank - 3, n = rank - 2, d = rank - 1;
  const auto each = [&](std::size_t dim, const auto& visit) {
    const std::int64_t before = at[dim];
    for (at[dim] = 0; at[dim] < kernel.space[dim].extent; ++at[dim]) visit();
    at[dim] = before;
  };
  if (at[m] == 0 && at[e] == 0) {
    kept.keys.clear();
    kept.values.clear();
    each(n, [&] {
      if (ReadsPages(kernel)) {
        const std::size_t t = rank - 7, p = rank - 6, s = rank - 5;
        at[t] = at[n] / kernel.space[s].extent;
        at[s] = at[n] % kernel.space[s].extent;
        at[p] = static_cast<std::int64_t>(input(3, 0));
      }
      each(d, [&] { kept.keys.push_back(input(1, 0)); });
      each(e, [&] { kept.values.push_back(input(2, 0)); });
    });
  }
  if (at[e] == 0) {
    std::vector<double> query;
    each(d, [&] { query.push_back(input(0, 0)); });
    const bool causal = kernel.attributes.at("causal")[0] != 0;
    kept.scores.clear();
    each(n, [&] {
      double score = std::inner_product(query.begin(), query.end(),
                                        &kept.keys[static_cast<std::size_t>(at[n]) * query.size()], 0.0);
      if (!kernel.lets.empty()) score = input(kernel.inputs.size(), score);
      kept.scores.push_back(causal && at[n] > at[m] ? HiddenScore(kernel) : score);
    });
  }
  double top = -INFINITY, total = 0, value = 0;
  if (!WeighsBySoftmax(kernel)) {
    kept.row_sum = std::accumulate(kept.scores.begin(), kept.scores.end(), 0.0);
    for (std::size_t key = 0; key < kept.scores.size(); ++key) {
      if (kept.scores[key] != 0)
        value += kept.scores[key] *
                 kept.values[key * static_cast<std::size_t>(kernel.space[e].extent) + static_cast<std::size_t>(at[e])];
    }
    return value;
  }
  for (const double score : kept.scores) top = std::fmax(top, score);
  kept.row_sum = -INFINITY;
  if (top == -INFINITY && kernel.attributes.at("safe")[0] != 0) return 0;
  for (std::size_t key = 0; key < kept.scores.size(); ++key) {
    const double weight = std::exp(kept.scores[key] - top);
    total += weight;
    if (weight != 0)
      value += weight *
               kept.values[key * static_cast<std::size_t>(kernel.space[e].extent) + static_cast<std::size_t>(at[e])];
  }
  if (top != -INFINITY) kept.row_sum = top + std::log(total);
  return value / total;
}

using WindowValue = double (*)(const Kernel&, std::vector<std::int64_t>&, const ReadInput&, Kept& kept);
inline WindowValue WindowFamily(std::string_view family) {
  if (family == "conv") return ConvolutionAt;
  if (family == "pool") return PoolAt;
  if (family == "attention") return AttentionAt;
  return nullptr;
}

}  // namespace hone::dsl::testing
