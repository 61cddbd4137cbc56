// Products of bf16 by the processor's own: two of them, summed in f32, in each lane of an instruction (AVX512_BF16).
#include <fmt/format.h>

#include "dsl/cpu/matmul_blocks.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/cpu/matmul_tile.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_matmul_pairs {
namespace {

constexpr std::int64_t kLanes = 16;  // of f32 in the vector that the instruction works on

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (!kernel.device->bf16_pairs) return fmt::format("{} has no products of bf16", kernel.device->processor);
  if (kernel.compute != DType::kF32) return "its sums are of f32";
  for (const Expr& input : kernel.inputs) {
    const int operand = OperandOf(input);
    if (operand < 0) return "an operand is an expression, whose values are not of bf16";
    if (kernel.operand_types[static_cast<std::size_t>(operand)] != DType::kBF16)
      return "both operands have to be of bf16";
  }
  return std::nullopt;
}

// Half of what numbers take, where packing is not what matters.
std::optional<double> Cost(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  return shape.m.extent <= kFewRows ? 2.5 : 1.2;
}

std::vector<Setting> MicroValues(const Kernel& kernel) {
  auto values = MicroBlocks(kernel, false);
  std::erase_if(values,
                [](const Setting& value) { return std::get<std::vector<std::int64_t>>(value.value)[1] % kLanes != 0; });
  return values;
}
std::optional<std::string> CheckPairsMicro(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckMicro(kernel, value)) return why;
  if (std::get<std::vector<std::int64_t>>(value.value)[1] % kLanes != 0)
    return fmt::format("the second must be a multiple of {}; try 14x32", kLanes);
  return std::nullopt;
}

constexpr Knob kKnobs[] = {
    kMatmulThreadsKnob,
    kVectorKnob,
    {"micro", "rows x columns of the result in registers", MicroValues, CheckPairsMicro},
    kTileKnob,
    kPrepackKnob,
};

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  EmitMatmulTile(program, kernel, writer, PanelUnit::kPair);
}

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "pairs",
    .doc = "of bf16, packed and register-blocked, by the processor's products of pairs (AVX512_BF16)",
    .why_not = WhyNot,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_matmul_pairs
