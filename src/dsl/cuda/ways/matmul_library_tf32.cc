#include "dsl/cuda/matmul_library.h"
#include "dsl/cuda/matmul_tensor.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_library_tf32 {
namespace {

// Less accurate than what the statement says: somebody has to ask for it.
std::optional<double> Cost(const Kernel&) { return std::nullopt; }

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  EmitMatmulLibrary(program, kernel, out, /*tf32=*/true);
}

constexpr Knob kKnobs[] = {kMatmulAlgorithmKnob};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "library_tf32",
    .doc = "cuBLASLt in TF32",
    .why_not = WhyNoLibraryMultiplies,
    .cost = Cost,
    .least_us = kTensorLeastUs,
    .knobs = kKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_matmul_library_tf32
