// Convolutions by cuDNN: what the way (ways/conv_library.cc) and others ask about them.
#pragma once

#include <optional>

#include "candidate/plan.h"
#include "dsl/cuda/library.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether the library can: both operands lie in memory as it reads them, and the extents are those that it computes.
bool LibraryConvolves(const Kernel& kernel);

// The operand as the library sees it; nothing if it is an expression or is repeated along a dimension.
std::optional<StridedArgument> ConvolutionArgument(const Kernel& kernel, int input);

// max(it + bias, 0) or it + bias, the bias being one number a channel; nothing if the end is another one.
std::optional<LibraryEnd> LibraryEndOf(const Kernel& kernel);

// Whether the library makes the end, too.
bool EndsInLibrary(const Kernel& kernel);

}  // namespace hone::dsl
