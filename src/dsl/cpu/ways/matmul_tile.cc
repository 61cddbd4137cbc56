#include "dsl/cpu/matmul_tile.h"

#include <fmt/format.h>

#include "dsl/cpu/matmul_blocks.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_matmul_tile {
namespace {

std::optional<double> Cost(const Kernel&) { return 2; }

// Batches of small matrices lie in the caches as they are: packing them is as much work as it spares.
bool StaysUnpacked(const Kernel& kernel, const MatmulShape& shape) {
  return !shape.batch.empty() && shape.m.extent <= 256 &&
         shape.k.extent * shape.n.extent * 4 <= kernel.device->l2_bytes / 8;
}

std::vector<Setting> MicroValues(const Kernel& kernel) {
  return MicroBlocks(kernel, StaysUnpacked(kernel, MatmulShape(kernel)));
}

// Why an operand cannot be read where it lies.
std::optional<std::string> CannotLie(const Kernel& kernel, int input) {
  const int operand = OperandOf(kernel.inputs[static_cast<std::size_t>(input)]);
  if (operand < 0) return fmt::format("{} is an expression: it has to be packed", input == 0 ? "A" : "B");
  if (input == 0) return std::nullopt;
  const MatmulShape shape(kernel);
  const auto micro = TupleSetting(kernel, "micro");
  if (shape.n.strides[static_cast<std::size_t>(operand)] != 1)
    return "B's columns are not contiguous: it has to be packed";
  if (micro.size() == 2 && shape.n.extent % micro[1] != 0) {
    return fmt::format("B's {} columns are no multiple of micro's {}: it has to be packed", shape.n.extent, micro[1]);
  }
  return std::nullopt;
}

std::vector<Setting> PackValues(const Kernel& kernel) {
  const MatmulShape shape(kernel);
  const bool small = StaysUnpacked(kernel, shape);
  constexpr std::string_view kLarge[] = {"both", "b", "a", "none"}, kSmall[] = {"none", "b", "both", "a"};
  std::vector<Setting> values;
  for (const std::string_view word : small ? kSmall : kLarge) {
    const bool a = word == "both" || word == "a", b = word == "both" || word == "b";
    if ((a || !CannotLie(kernel, 0)) && (b || !CannotLie(kernel, 1))) values.push_back(Word(std::string(word)));
  }
  return values;
}
std::optional<std::string> CheckPack(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"none", "a", "b", "both"})) return why;
  const std::string& word = std::get<std::string>(value.value);
  if (word != "both" && word != "a") {
    if (auto why = CannotLie(kernel, 0)) return *why + "; try " + (word == "b" ? "both" : "a");
  }
  if (word != "both" && word != "b") {
    if (auto why = CannotLie(kernel, 1)) return *why + "; try " + (word == "a" ? "both" : "b");
  }
  return std::nullopt;
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    kMatmulThreadsKnob,
    kVectorKnob,
    {"micro", "rows x columns of the result in registers", MicroValues, CheckMicro},
    kTileKnob,
    {"pack", "which operands are copied into the order in which they are read: both, a, b, none", PackValues,
     CheckPack},
    kPrepackKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "matmul",
    .name = "tile",
    .doc = "packed and register-blocked",
    .why_not = WhyNoBlocksOfProducts,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = EmitMatmulTile,
};

}  // namespace hone::dsl::cpu_way_matmul_tile
