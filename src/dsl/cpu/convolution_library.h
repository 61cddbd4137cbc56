// Convolutions by oneDNN 2 (path `library` of cpu/convolution.h). The library is looked for when the module runs: its
// header may be absent where the module is compiled, and no module is linked with it.
#pragma once

#include "dsl/cpu/convolution.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether oneDNN can read both operands where they lie.
bool LibraryTakes(const Kernel& kernel);

// Opens "if (library_y.Run(...)) {", where the target holds the sums without the chain, and writes what that takes.
// Writes nothing, and is false, where the library has no such convolution.
bool OpenLibraryRun(const KernelProgram& program, const Kernel& kernel, const Convolution& conv, Writer& writer);

}  // namespace hone::dsl
