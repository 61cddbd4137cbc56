#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/cuda/tensor_tail.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_bf16 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!FitBrains(kernel)) return "bf16 does not hold the operands, which would be rounded to it";
  return WhyNoRotation(kernel, TensorPrecision::kBF16);
}

std::optional<double> Cost(const Kernel& kernel) { return TensorCost(kernel, TensorPrecision::kBF16); }

constexpr Knob kKnobs[] = {
    kTensorProductsKnob, kTensorTileKnob, kTensorTurnsKnob, kTensorStagesKnob,
    kTensorClusterKnob,  kTensorTailKnob, kTensorSplitKnob, kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "bf16",
    .doc = "one product on the tensor cores, of operands that bf16 holds",
    .why_not = WhyNot,
    .cost = Cost,
    .packs = TensorPacks,
    .least_us = kTensorLeastUs,
    .rotates = true,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_bf16
