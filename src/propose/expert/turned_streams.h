// Sums that lie as the products that make their terms do. A residual stream of images has its channels first where a
// convolution is written, and the products between have them last: each sum is a map of its own then, which turns what
// the product made. Where it lies as they do it is the end of the product, `-> it * scale + stream`, and convolutions
// whose kernels read channels last, and norms, read it as it lies.
#pragma once

#include <optional>

#include "dsl/kernel.h"
#include "dsl/program.h"

namespace hone::expert {

// The program with all such sums so; nothing if no product can end with one. `checked`: what the checker made of the
// program.
std::optional<dsl::Program> WithTurnedStreams(dsl::Program program, const dsl::KernelProgram& checked);

}  // namespace hone::expert
