// What others ask about convolutions by cuDNN (ways/conv_library.cc).
#pragma once

#include "dsl/kernel.h"

namespace hone::dsl {

// Whether the library can: both operands lie in memory as it reads them, and the extents are those that it computes.
bool LibraryConvolves(const Kernel& kernel);

// Whether the library makes the end, too.
bool EndsInLibrary(const Kernel& kernel);

}  // namespace hone::dsl
