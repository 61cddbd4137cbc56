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

// `at` has one place a dimension of the space, of which those of the result are set; `input(i)` is input i there.
inline double ConvolutionAt(const Kernel& kernel, std::vector<std::int64_t>& at,
                            const std::function<double(std::size_t)>& input) {
  const std::size_t spatial = (kernel.space.size() - 5) / 3;
  const std::size_t c = 2 + spatial, in = 3 + 2 * spatial, made = kernel.space.size() - 1;
  const auto extent = [&](std::size_t d) { return kernel.space[d].extent; };
  const std::int64_t group = at[1] / extent(made);
  at[made] = at[1] % extent(made);
  double sum = 0;
  const std::function<void(std::size_t)> visit = [&](std::size_t d) {
    if (d == spatial) {
      sum += input(0) * input(1);
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

using WindowValue = double (*)(const Kernel&, std::vector<std::int64_t>&, const std::function<double(std::size_t)>&);
inline WindowValue WindowFamily(std::string_view family) {
  if (family == "conv") return ConvolutionAt;
  return nullptr;
}

}  // namespace hone::dsl::testing
