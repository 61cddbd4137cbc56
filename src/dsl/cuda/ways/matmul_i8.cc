// Whole numbers of 8 bits, whose products the tensor cores sum exactly in 32, as fast as reals of 8 bits.
#include <fmt/format.h>

#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_matmul_i8 {
namespace {

constexpr std::int64_t kMostTerms = (std::int64_t{1} << 31) / (128 * 128) - 1;  // that 32 bits always hold

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (auto why = WhyNoTensorCores(kernel)) return why;
  if (!MultipliesInPlace(kernel, TensorPrecision::kI8))
    return "it is for operands that are i8, lie along K and begin at multiples of 16 bytes";
  const std::int64_t terms = kernel.space.back().extent;
  if (terms > kMostTerms) return fmt::format("32 bits hold sums of {} products, and K is {}", kMostTerms, terms);
  return std::nullopt;
}

std::optional<double> Cost(const Kernel&) { return 1.2; }

constexpr Knob kKnobs[] = {
    kTensorTileKnob, kTensorTurnsKnob, kTensorStagesKnob, kTensorClusterKnob, kTensorSplitKnob, kTensorEndKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "i8",
    .doc = "one exact product on the tensor cores, of whole numbers of 8 bits",
    .why_not = WhyNot,
    .cost = Cost,
    .wholes = true,
    .knobs = kKnobs,
    .emit_cuda = EmitTensorWay,
};

}  // namespace hone::dsl::cuda_way_matmul_i8
