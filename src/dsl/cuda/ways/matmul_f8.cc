// The tensor cores multiply reals of 8 bits exactly, twice as many as halves at a time, but align what they add to the
// largest of 32 products and the sum so far, and cut it off some 13 bits below. Over long K that would be the largest
// error by far, up to a few of the last bits of a bf16; so `promote` elements of K are a sum of their own, as cuBLASLt
// does it without "fast accumulation", which is `promote: 0`.
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_f8 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!MultipliesInPlace(kernel, TensorPrecision::kF8))
    return "it is for operands that are reals of 8 bits, lie along K and begin at multiples of 16 bytes";
  return std::nullopt;
}

std::optional<double> Cost(const Kernel& kernel) { return TensorCost(kernel, TensorPrecision::kF8); }

constexpr Knob kKnobs[] = {
    kTensorProductsKnob, kTensorPromoteKnob, kTensorTileKnob,  kTensorTurnsKnob, kTensorSumsKnob,
    kTensorStagesKnob,   kTensorClusterKnob, kTensorSplitKnob, kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "f8",
    .doc = "one product on the tensor cores, of operands that are reals of 8 bits",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_f8
