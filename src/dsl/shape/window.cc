#include "dsl/shape/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace hone::dsl {

std::int64_t Phase::Low() const { return offset + std::min<std::int64_t>(0, (taps - 1) * offset_step); }
std::int64_t Phase::Span() const { return taps == 0 ? 0 : (taps - 1) * std::abs(offset_step); }
bool Phase::Leaves() const {
  return taps > 0 && positions > 0 && (Low() < 0 || Low() + Span() + (positions - 1) * in_step >= in);
}

Phase PhaseOf(const WindowDim& dim) {
  return {.in = dim.in,
          .positions = dim.out,
          .out_start = 0,
          .out_step = 1,
          .in_step = dim.stride,
          .taps = dim.window,
          .first = 0,
          .every = 1,
          .offset = -dim.padding,
          .offset_step = dim.dilation};
}

std::vector<Phase> TransposedPhases(const WindowDim& dim) {
  // Output y gets w[k] * x[i] where i * stride = y + padding - k * dilation. With y = start + m * stride and y +
  // padding = (m + q) * stride + r, those k count for which k * dilation - r is a multiple of the stride.
  std::vector<Phase> phases;
  const std::int64_t every = dim.stride / std::gcd(dim.stride, dim.dilation);
  for (std::int64_t start = 0; start < std::min(dim.stride, dim.out); ++start) {
    const std::int64_t r = (start + dim.padding) % dim.stride, q = (start + dim.padding) / dim.stride;
    Phase phase{.in = dim.in,
                .positions = (dim.out - start + dim.stride - 1) / dim.stride,
                .out_start = start,
                .out_step = dim.stride,
                .in_step = 1,
                .taps = 0,
                .first = 0,
                .every = every,
                .offset = 0,
                .offset_step = -(every * dim.dilation / dim.stride)};
    for (std::int64_t k = 0; k < std::min(every, dim.window); ++k) {
      if ((k * dim.dilation - r) % dim.stride != 0) continue;
      phase.first = k;
      phase.taps = (dim.window - k + every - 1) / every;
      phase.offset = q - (k * dim.dilation - r) / dim.stride;
    }
    phases.push_back(phase);
  }
  return phases;
}

std::optional<std::string> FillAttribute(Attributes& attributes, const std::string& name, std::size_t count,
                                         std::int64_t otherwise, std::int64_t least) {
  auto& values = attributes[name];
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() != count) {
    return fmt::format("'{}' has {} numbers and there are {} dimensions: write one number for all, or one each", name,
                       values.size(), count);
  }
  for (const auto value : values) {
    if (value < least || value > 1 << 30) return fmt::format("'{}' is {} at least, not {}", name, least, value);
  }
  return std::nullopt;
}

}  // namespace hone::dsl
