// Where operands of f32 become halves, and what is the fastest.
#include <fmt/format.h>

#include <algorithm>

#include "base/rounding.h"
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_halves.h"
#include "dsl/cuda/matmul_settings.h"
#include "dsl/cuda/matmul_tensor_knobs.h"
#include "dsl/knobs.h"

namespace hone::dsl {

namespace {
constexpr const char* kHalves[] = {"before", "left", "right", "both"};

// What a product takes in microseconds, packing included. Measured on an H200 (docs/measured/cuda_matmul.md): how long
// a stage of 64 of K takes, what is packed, and what is read and written, a microsecond, by warpgroups that make
// halves.
double HalvesCost(const Kernel& kernel, const MatmulShape& shape, const TensorSettings& settings) {
  constexpr double kStage[] = {1.2, 1.9, 1.93}, kStageOfOneHalf[] = {0.7, 1.6, 1.7}, kPacked = 3.9e6,
                   kMoved[] = {4.1e6, 3.6e6, 3.5e6};
  const bool two = TensorParts(settings) == 2;
  double packed = 0, moved = static_cast<double>(shape.m.extent * shape.n.extent * BatchesOf(shape)) *
                             static_cast<double>(Bytes(kernel.target_type));
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    const int operand = OperandOf(InputOf(kernel, input));
    double elements = static_cast<double>((input == 0 ? shape.m : shape.n).extent * shape.k.extent);
    for (const LoopDim& dim : shape.batch) {
      if (operand < 0 || dim.strides[static_cast<std::size_t>(operand)] != 0)
        elements *= static_cast<double>(dim.extent);
    }
    const bool splits = Splits(settings, input);
    moved += elements * (splits || two ? 4 : 2);
    const bool once = operand >= 0 && kernel.operand_is_parameter[static_cast<std::size_t>(operand)];
    if (!splits && !once) packed += elements * (two ? 8 : 6);
  }
  const std::int64_t tiles = TilesOf(shape, kSplitRows, kSplitRows),
                     split = SplitOf(kernel, shape, kSplitRows, kSplitRows),
                     stages = CeilDiv(tiles * split, kernel.device->multiprocessors) *
                              CeilDiv(CeilDiv(shape.k.extent, kSplitDepth), split);
  const auto splitters = static_cast<std::size_t>(TensorSplitters(settings));
  const double multiplied = static_cast<double>(stages) * (two ? kStage : kStageOfOneHalf)[splitters];
  return packed / kPacked + std::max(multiplied, moved / kMoved[splitters]);
}

}  // namespace

std::vector<Setting> TensorHalvesValues(const Kernel& kernel) {
  if (!IsScaled(kernel)) return {};
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  const auto cost = [&](const Setting& value) {
    return HalvesCost(kernel, shape, WithHalves(TensorSettingsOf(kernel), std::get<std::string>(value.value)));
  };
  std::vector<Setting> values;
  for (const char* word : kHalves) {
    if (!CheckTensorHalves(kernel, Word(word))) values.push_back(Word(word));
  }
  std::ranges::stable_sort(values, {}, cost);
  return values;
}
std::optional<std::string> CheckTensorHalves(const Kernel& kernel, const Setting& value) {
  if (!IsScaled(kernel)) return "no operand of it becomes halves; remove it";
  if (auto why = CheckWord(value, {"before", "left", "right", "both"})) return why;
  TensorSettings settings = WithHalves(TensorSettingsOf(kernel), std::get<std::string>(value.value));
  if (TensorSplitters(settings) == 0) return std::nullopt;
  if (EndsOfParts(kernel) || HasChoice(kernel) || FoldsColumns(kernel) || ProductsOf(kernel) > 1)
    return "only of one plain product operands become halves where they are multiplied; try before";
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) {
    if (Splits(settings, input) && RawLayoutOf(kernel, shape, input) == OperandLayout::kElsewise)
      return fmt::format("{} does not lie in lines of f32 that the copy engine reads; try before",
                         input == 0 ? "the left operand" : "the right operand");
  }
  settings.promote = kSplitDepth;
  settings.stages = 2;
  return CheckTensor(kernel.device->limits, settings);
}

}  // namespace hone::dsl
