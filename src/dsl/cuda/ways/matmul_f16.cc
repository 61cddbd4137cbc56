#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/cuda/tensor_tail.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_f16 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  return WhyNoRotation(kernel, TensorPrecision::kF16);
}

std::optional<double> Cost(const Kernel& kernel) { return TensorCost(kernel, TensorPrecision::kF16); }

constexpr Knob kKnobs[] = {
    kTensorProductsKnob, kTensorTileKnob,    kTensorTurnsKnob, kTensorHalvesKnob, kTensorStagesKnob,
    kTensorPromoteKnob,  kTensorClusterKnob, kTensorTailKnob,  kTensorSplitKnob,  kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "f16",
    .doc = "one product of halves on the tensor cores, as accurate as TF32",
    .why_not = WhyNot,
    .cost = Cost,
    .packs = TensorPacks,
    .least_us = kTensorLeastUs,
    .rotates = true,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_f16
