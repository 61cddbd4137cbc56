// As matmul_reduce_tiles.cc, of operands of f32 and of expressions: each is split into two halves before, and a product
// of two is three of those.
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_reduce_f32x3 {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (AllAre(kernel, DType::kF16) || AllAre(kernel, DType::kBF16))
    return "it splits operands of f32, and these have 16 bits";
  if (kernel.space.back().extent == 0) return "K is 0";
  if (kernel.space[kernel.space.size() - 2].extent == 0) return "B has no columns";
  if (auto why = WhyNoGroupsOfColumns(kernel)) return why;
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kTensorTileKnob, kTensorStagesKnob, kTensorPromoteKnob, kTensorClusterKnob};

}  // namespace

HONE_ROW(Way){
    .family = "matmul_reduce",
    .name = "f32x3",
    .doc = "many rows, as accurate as FP32: tiles of three FP16 products on the tensor cores",
    .why_not = WhyNot,
    .packs = TensorPacks,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_reduce_f32x3
