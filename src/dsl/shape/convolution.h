// What a convolution multiplies, as its back ends see it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/window.h"

namespace hone::dsl {

std::size_t SpatialOf(const Kernel& kernel);  // how many spatial dimensions: one to three

// What a convolution reads as `input` (0: x, 1: w), as it is in memory: x [N, C, spatial..], w [O, C / groups,
// window..], of a transposed one w [C, O / groups, window..].
struct ConvolutionOperand {
  Shape shape;
  std::vector<std::size_t> dims;  // which dimensions of kernel.space those are
};
ConvolutionOperand ConvolutionOperandOf(const Kernel& kernel, int input);

// conv's iteration space is [N, O, spatial.. | C / groups, window.. | C, input spatial.., O / groups]; what stands
// behind the first bar is folded, behind the second are the places at which operands are read.
struct Convolution {
  explicit Convolution(const Kernel& kernel);

  bool transposed = false;
  std::int64_t batch = 1, groups = 1;
  std::int64_t channels = 1, made = 1;  // of a group: input channels, output channels
  std::array<WindowDim, 3> dims;        // z, y, x; those that are not there have extent 1
  std::array<std::vector<Phase>, 3> phases;
  // Every operand's strides in a fixed order, whatever the number of spatial dimensions.
  enum Dim : std::uint8_t { kN, kO, kZ, kY, kX, kC, kTapZ, kTapY, kTapX, kIn, kInZ, kInY, kInX, kMade, kDims };
  std::vector<std::array<std::int64_t, kDims>> strides;
  std::array<std::int64_t, kDims> target{};

  std::int64_t Taps() const { return dims[0].window * dims[1].window * dims[2].window; }
  std::int64_t Pixels() const { return dims[0].out * dims[1].out * dims[2].out; }
  double Flops() const;
};

// Why sums that are made in the target's memory cannot be, or nothing.
std::optional<std::string> WhyNotWritten(const Kernel& kernel);
// The same where sums may be made beside the target, and rounded once to reals of fewer bits.
std::optional<std::string> WhyNotRounded(const Kernel& kernel);

}  // namespace hone::dsl
