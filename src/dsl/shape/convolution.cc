#include "dsl/shape/convolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace hone::dsl {

std::size_t SpatialOf(const Kernel& kernel) { return (kernel.space.size() - 5) / 3; }

ConvolutionOperand ConvolutionOperandOf(const Kernel& kernel, int input) {
  const std::size_t spatial = SpatialOf(kernel);
  // The space is [N, O, out.. | C / groups, taps.. | C, in.., O / groups].
  const std::size_t channel = 2 + spatial, taps = channel + 1, in = taps + spatial, places = in + 1,
                    made = places + spatial;
  ConvolutionOperand operand;
  const auto add = [&](std::size_t d) {
    operand.dims.push_back(d);
    operand.shape.push_back(kernel.space[d].extent);
  };
  const bool transposed = kernel.variant == "transposed";
  add(input == 0 ? 0 : transposed ? in : 1);
  add(input == 0 ? in : transposed ? made : channel);
  for (std::size_t d = 0; d < spatial; ++d) add((input == 0 ? places : taps) + d);
  return operand;
}

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

}  // namespace hone::dsl
