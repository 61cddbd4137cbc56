// Halves hold all reals of 8 bits, and the tensor cores keep more of their sums: for what is held to sums of f32.
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_scaled_matmul_f16 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!FitHalves(kernel) && !AllAre(kernel, DType::kF16))
    return "it is for operands that halves hold: reals of 8 bits as they are, or f16";
  return WhyNoBlocks(kernel, TensorPrecision::kF16);
}

std::optional<double> Cost(const Kernel&) { return 2.4; }

constexpr Knob kKnobs[] = {
    kTensorTileKnob, kTensorStagesKnob, kTensorClusterKnob, kTensorSplitKnob, kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "scaled_matmul",
    .name = "f16",
    .doc = "on the tensor cores, of halves, whose sums are nearly those of f32",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_scaled_matmul_f16
