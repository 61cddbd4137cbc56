// Matrix products by cuBLASLt, with bias, residual and ReLU as the library's epilogue; another end is a kernel that
// follows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Why the library cannot make the product, or nothing: it reads both operands where they lie.
std::optional<std::string> WhyNoLibraryMultiplies(const Kernel& kernel);

std::vector<Setting> MatmulAlgorithmValues(const Kernel& kernel);
std::optional<std::string> CheckMatmulAlgorithm(const Kernel& kernel, const Setting& value);
inline constexpr Knob kMatmulAlgorithmKnob{"algorithm", "which of cuBLASLt's proposals, its best first",
                                           MatmulAlgorithmValues, CheckMatmulAlgorithm};

// `tf32`: products of f32 are made in TF32.
void EmitMatmulLibrary(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, bool tf32);

}  // namespace hone::dsl
