#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_f32x3 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  return WhyNoRotation(kernel, TensorPrecision::kF32x3);
}

std::optional<double> Cost(const Kernel& kernel) { return TensorCost(kernel, TensorPrecision::kF32x3); }

constexpr Knob kKnobs[] = {
    kProductsApartKnob, kTensorTileKnob,    kTensorHalvesKnob, kTensorStagesKnob,
    kTensorPromoteKnob, kTensorClusterKnob, kTensorSplitKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "f32x3",
    .doc = "as accurate as FP32, of three FP16 products on the tensor cores",
    .why_not = WhyNot,
    .cost = Cost,
    .packs = TensorPacks,
    .least_us = kTensorLeastUs,
    .rotates = true,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_f32x3
