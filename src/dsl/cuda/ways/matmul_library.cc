#include "dsl/cuda/matmul_library.h"

#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_library {
namespace {

// Products from which on three of halves beat the library's FP32 (docs/measured/cuda_matmul.md).
constexpr double kOursAreFaster = 1 << 28;

std::optional<double> Cost(const Kernel& kernel) {
  if (!kernel.device->libraries.cublas_lt) return std::nullopt;
  const MatmulShape shape(kernel);
  const bool wide = kernel.compute == DType::kF64, tensor_cores = !Lacks(*kernel.device, kTensorNeeds);
  if (tensor_cores && AllAre(kernel, DType::kF32) && Products(shape) >= kOursAreFaster) return std::nullopt;
  return IsLarge(shape) && !tensor_cores && !wide ? 1.2 : 2;
}

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  EmitMatmulLibrary(program, kernel, out, /*tf32=*/false);
}

constexpr Knob kKnobs[] = {kMatmulAlgorithmKnob};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "library",
    .doc = "cuBLASLt in the operands' own precision",
    .why_not = WhyNoLibraryMultiplies,
    .cost = Cost,
    .least_us = kTensorLeastUs,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_library
