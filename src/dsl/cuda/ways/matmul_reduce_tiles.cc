// Products of many rows folded as their tiles are made (matmul_tensor.h, matmul_rows_end.h): scores of all with all, or
// with a vocabulary, whose logarithm of a sum of exponentials is all that is wanted.
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_reduce_tiles {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  const bool brains = AllAre(kernel, DType::kBF16);
  if (!brains && !AllAre(kernel, DType::kF16)) return "it is for operands that are both f16, or both bf16";
  if (!MultipliesInPlace(kernel, brains ? TensorPrecision::kBF16 : TensorPrecision::kF16))
    return "both operands have to lie in lines, along K or across it, at multiples of 16 bytes";
  if (kernel.space[kernel.space.size() - 2].extent == 0) return "B has no columns";
  if (auto why = WhyNoGroupsOfColumns(kernel)) return why;
  return std::nullopt;
}

// Behind those that read a few rows' columns at memory speed.
std::optional<double> Cost(const Kernel&) { return 1.5; }

constexpr Knob kKnobs[] = {kTensorTileKnob, kTensorTurnsKnob, kTensorStagesKnob, kTensorClusterKnob};

}  // namespace

HONE_ROW(Way){
    .family = "matmul_reduce",
    .name = "tiles",
    .doc = "many rows: tiles on the tensor cores, each folded before the next",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_reduce_tiles
