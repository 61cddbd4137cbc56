// How a convolution is computed: blocks, which knobs and emission share, and the emission. The
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

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/convolution.h"

namespace hone::dsl {

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
