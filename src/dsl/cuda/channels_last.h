// Convolutions whose channels lie side by side. Tensor cores read them so, and where x, w or y lie otherwise cuDNN
// copies them each time. A convolution with the setting `layout: channels_last` is split here, before anything is
// written:
//
//   x with its channels last   a copy, unless it lies so already
//   w with its channels last   a copy, made once where w is a parameter
//   the convolution            from the copies into memory that lies likewise
//   its end                    a map; it writes the result as it has to lie, and is left out if there is nothing to do
//
// Some ways read so whatever they are set to (Way::reads_channels_last), want channels at multiples of 16 bytes, and
// end elements themselves: of those the operands are copied alone, and a result that cannot stay last is written first.
//
// A result that only other kernels of the program read stays as it was made: their strides change instead. Then
// the end of one convolution is the beginning of the next, and nothing is copied between them.
#pragma once

#include <string_view>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

// The setting, and its value, that ask for it.
inline constexpr std::string_view kLayoutKnob = "layout", kChannelsFirst = "channels_first",
                                  kChannelsLast = "channels_last";
bool MakesChannelsLast(const Kernel& kernel);

// Strides, in elements, of a dense [N, C, spatial..] whose channels lie side by side.
std::vector<std::int64_t> ChannelsLastStrides(const Shape& shape);

// Whether the operands of a convolution by the library can be copied so: each is [N, C, pixels] by its strides.
bool CanLieChannelsLast(const Kernel& kernel);

// Bytes that copies move, and a map that ends elements; of a convolution that is in the program.
double BytesBeside(const KernelProgram& program, const Kernel& kernel);

// The program without ends at such convolutions. All others are kept as they are.
KernelProgram SplitChannelsLast(KernelProgram program);

}  // namespace hone::dsl
