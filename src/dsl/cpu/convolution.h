// How a convolution is computed: the view of a conv kernel that its knobs and its emission share, and the emission. The
// ways:
//
//   direct  rows of the input are copied once, with zeros around, the columns of a stride side by side; every tap of
//           the window then reads them as contiguous vectors, and a block of output channels x pixels stays in
//           registers
//   gemm    the inputs under the windows of a block of pixels are packed as a matrix, a column a pixel (im2col, but for
//           a block that stays in L2), which is multiplied with the weights
//   library oneDNN 2, loaded when the module is prepared, then the chain; where it is absent, as gemm
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dsl/cpu/window.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

std::size_t SpatialOf(const Kernel& kernel);  // how many spatial dimensions: one to three

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

// A direct block: rows of up to `columns` outputs of one image, and the shape of the copy of the inputs that they need.
struct DirectBlock {
  DirectBlock(const std::array<Phase, 3>& phase, std::int64_t pixels);

  std::int64_t rows = 1, columns = 1;          // outputs
  std::int64_t phases_y = 1, phases_x = 1;     // input rows and columns apart by their remainder of the stride
  std::int64_t pitch = 1, lines = 1;           // elements of a row of the copy, rows of one phase
  std::int64_t part = 1, plane = 1, cube = 1;  // elements of one phase, one depth, one channel
  std::int64_t Count(std::int64_t channels, std::int64_t pixels_at_a_time) const;  // with what is read beyond the end
};

void EmitConvolutionDirect(const KernelProgram& program, const Kernel& kernel, Writer& writer);
void EmitConvolutionGemm(const KernelProgram& program, const Kernel& kernel, Writer& writer);
void EmitConvolutionByLibrary(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
