#include "dsl/cpu/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hone::dsl {

std::size_t SpatialOf(const Kernel& kernel) { return (kernel.space.size() - 5) / 3; }

Convolution::Convolution(const Kernel& kernel) : transposed(kernel.variant == "transposed") {
  const auto& space = kernel.space;
  // N, O, s.., C', s.., C, s.., O'
  const std::size_t spatial = SpatialOf(kernel);
  std::vector<Dim> order = {kN, kO};
  const auto add = [&](Dim last_of_three) {
    for (std::size_t d = 0; d < spatial; ++d)
      order.push_back(static_cast<Dim>(static_cast<std::size_t>(last_of_three) + 1 - spatial + d));
  };
  add(kX);
  order.push_back(kC);
  add(kTapX);
  order.push_back(kIn);
  add(kInX);
  order.push_back(kMade);
  HONE_CHECK(order.size() == space.size(), "the space of a convolution");
  std::array<std::int64_t, kDims> extents;
  extents.fill(1);
  for (std::size_t d = 0; d < order.size(); ++d) extents[order[d]] = space[d].extent;
  batch = extents[kN];
  channels = extents[kC];
  made = extents[kMade];
  groups = made == 0 ? 1 : std::max<std::int64_t>(1, extents[kO] / made);
  for (std::size_t d = 0; d < 3; ++d) {
    WindowDim& dim = dims[d];
    dim.in = extents[kInZ + d];
    dim.out = extents[kZ + d];
    dim.window = extents[kTapZ + d];
    if (d + spatial >= 3) {
      const std::size_t at = d + spatial - 3;
      dim.stride = kernel.attributes.at("stride")[at];
      dim.dilation = kernel.attributes.at("dilation")[at];
      dim.padding = kernel.attributes.at("padding")[at];
    }
    phases[d] = transposed ? TransposedPhases(dim) : std::vector<Phase>{PhaseOf(dim)};
  }
  for (const auto& operand : kernel.operands) {
    std::array<std::int64_t, kDims> mine{};
    for (std::size_t d = 0; d < order.size(); ++d) mine[order[d]] = operand.strides[d];
    strides.push_back(mine);
  }
  std::int64_t step = 1;
  for (const Dim dim : {kX, kY, kZ, kO, kN}) {
    target[dim] = step;
    step *= extents[dim];
  }
}

double Convolution::Flops() const {
  double products = static_cast<double>(batch * groups * channels) * static_cast<double>(made * Taps());
  for (const auto& dim : dims) products *= static_cast<double>(transposed ? dim.in : dim.out);
  return 2 * products;
}

std::optional<std::string> WhyNotWritten(const Kernel& kernel) {
  if (kernel.target_type == kernel.compute) return std::nullopt;
  return fmt::format("conv computes in {} here and cannot write {}: convert in a map of its own",
                     hone::Name(kernel.compute), hone::Name(kernel.target_type));
}

std::optional<std::string> WhyNotRounded(const Kernel& kernel) {
  return IsSmallFloat(kernel.target_type) ? std::nullopt : WhyNotWritten(kernel);
}

DirectBlock::DirectBlock(const std::array<Phase, 3>& phase, std::int64_t pixels) {
  const Phase &y = phase[1], &x = phase[2];
  columns = std::max<std::int64_t>(1, std::min(x.positions, pixels));
  rows = std::clamp<std::int64_t>(pixels / columns, 1, std::max<std::int64_t>(1, y.positions));
  phases_y = std::min(y.in_step, y.Span() + 1);
  phases_x = std::min(x.in_step, x.Span() + 1);
  pitch = columns + x.Span() / x.in_step;
  lines = rows + y.Span() / y.in_step;
  part = lines * pitch;
  plane = phases_y * phases_x * part;
  cube = std::max<std::int64_t>(1, phase[0].taps) * plane;
  // Channels a power of two apart would all meet in a few sets of the cache.
  if (cube % 128 == 0) cube += 16;
}

std::int64_t DirectBlock::Count(std::int64_t channels, std::int64_t pixels_at_a_time) const {
  return channels * cube + pixels_at_a_time + pitch;
}

}  // namespace hone::dsl
