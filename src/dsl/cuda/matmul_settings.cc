#include "dsl/cuda/matmul_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/rounding.h"
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_end.h"
#include "dsl/cuda/matmul_end_stages.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl {

// What has no precision in its name makes one product of what its operands are.
TensorPrecision PrecisionOf(const Kernel& kernel) {
  const std::string_view way = kernel.way->name;
  if (way == "f32x3") return TensorPrecision::kF32x3;
  if (way == "f8") return TensorPrecision::kF8;
  if (way == "i8") return TensorPrecision::kI8;
  if (way != "bf16" && way != "f16" && AllAre(kernel, DType::kF32)) return TensorPrecision::kTF32;
  return way == "bf16" || (way != "f16" && AllAre(kernel, DType::kBF16)) ? TensorPrecision::kBF16
                                                                         : TensorPrecision::kF16;
}
bool IsPlain(const Kernel& kernel) {
  if (HasBlocks(kernel)) return false;
  if (PrecisionOf(kernel) == TensorPrecision::kF8) return IntSetting(kernel, "promote") == 0;
  return !ScalesOperands(kernel, PrecisionOf(kernel));
}
bool IsScaled(const Kernel& kernel) { return ScalesOperands(kernel, PrecisionOf(kernel)); }

std::optional<std::string> WhyApart(const Kernel& kernel) {
  const TensorPrecision precision = PrecisionOf(kernel);
  if (!MultipliesInPlace(kernel, precision)) return std::string(kOnlyInPlace);
  if (!RightOnesLieAlike(kernel, precision))
    return "some of what A is multiplied with lies along K and some across it; try apart";
  const std::size_t most = precision == TensorPrecision::kF8 ? 3 : 4;  // of 64 columns each, that registers hold
  if (ProductsOf(kernel) > most) return fmt::format("{} products at most are made together; try apart", most);
  return std::nullopt;
}

bool Together(const Kernel& kernel) {
  return kernel.settings.contains("products") && WordSetting(kernel, "products") == "together";
}
std::int64_t ProductsAtATime(const Kernel& kernel) {
  return Together(kernel) ? static_cast<std::int64_t>(ProductsOf(kernel)) : 1;
}

bool EndsOfParts(const Kernel& kernel) { return HasGroups(kernel) || HasSegments(kernel); }

bool EndsInStages(const Kernel& kernel, const MatmulShape& shape, TensorSettings settings) {
  settings.stages = kMostStages;
  settings.end = TensorEnd::kTiles;
  return !CheckTiles(kernel) && EndStagesOf(kernel, shape, settings, nullptr).stages > 0;
}

namespace {

// Plain products of whole matrices that lie along K: what can be set on how their rows are copied is theirs alone.
bool CopiesRowsOfK(const Kernel& kernel, TensorPrecision precision) {
  return IsPlain(kernel) && !EndsOfParts(kernel) && !HasChoice(kernel) && !FoldsColumns(kernel) &&
         LieAlongK(kernel, precision);
}

// The copy engine is slow where it fills rows up: of a K that ends in the first half of a row of 128 bytes shorter ones
// are copied, as long as there are few (docs/measured/cuda_layers.md) and stages have room for what comes at the end.
std::int64_t RowBytes(const Kernel& kernel, TensorSettings settings) {
  constexpr std::int64_t kMostOfK = 320;  // bytes
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  const std::int64_t bytes = shape.k.extent * TensorElementBytes(settings.precision), behind = bytes % kTensorRowBytes;
  if (!CopiesRowsOfK(kernel, settings.precision) || bytes > kMostOfK || behind == 0 || behind > kTensorRowBytes / 2)
    return kTensorRowBytes;
  const bool in_stages = EndsInStages(kernel, shape, settings);
  settings.row_bytes = bytes <= kTensorRowBytes / 4 ? kTensorRowBytes / 4 : kTensorRowBytes / 2;
  return in_stages && !EndsInStages(kernel, shape, settings) ? kTensorRowBytes : settings.row_bytes;
}

// Steps of K of which a block keeps all of B: its tiles have the same columns then, one after the other. The copy
// engine takes three cycles a row, whatever is in it, so that a short K's B would take most of its time
// (docs/measured/cuda_layers.md). Tiles have to be many, columns to divide nearly all of the device among them, and
// what comes at the end has to come in stages as before.
std::int64_t KeptSteps(const Kernel& kernel, const TensorSettings& settings) {
  constexpr std::int64_t kMostKept = 96 << 10, kFewestTiles = 3;
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  if (!CopiesRowsOfK(kernel, settings.precision) || BatchesOf(shape) > 1 || TensorConsumers(settings) != 2 ||
      kernel.attributes.contains(std::string(kWalksB)))
    return 0;
  const std::int64_t processors = kernel.device->multiprocessors,
                     columns = std::max<std::int64_t>(CeilDiv(shape.n.extent, settings.tile_n), 1),
                     blocks = processors / columns * columns;
  // In clusters blocks are half as many.
  if (2 * columns > processors || 10 * blocks < 9 * processors ||
      TilesOf(shape, settings.tile_m, settings.tile_n) < kFewestTiles * blocks)
    return 0;
  TensorSettings kept = settings;
  kept.kept_steps = CeilDiv(shape.k.extent * TensorElementBytes(settings.precision), settings.row_bytes);
  if (TensorKeptBytes(kept) > kMostKept) return 0;
  return EndsInStages(kernel, shape, settings) && !EndsInStages(kernel, shape, kept) ? 0 : kept.kept_steps;
}

}  // namespace

std::string HalvesOf(const Kernel& kernel) {
  return kernel.settings.contains("halves") ? WordSetting(kernel, "halves") : "before";
}

TensorSettings WithHalves(TensorSettings settings, std::string_view halves) {
  settings.splits_a = halves == "left" || halves == "both";
  settings.splits_b = halves == "right" || halves == "both";
  return settings;
}

TensorSettings TensorSettingsOf(const Kernel& kernel) {
  TensorSettings settings;
  settings.precision = PrecisionOf(kernel);
  settings.products = ProductsAtATime(kernel);
  if (HasBlocks(kernel))
    settings.promote = BlockOf(kernel).depth;
  else if (settings.precision == TensorPrecision::kF8)
    settings.promote = IntSetting(kernel, "promote");
  else if (!Promotes(kernel))
    settings.promote = 0;
  settings.groups = MatmulShape(kernel).groups();
  settings.segments = HasSegments(kernel);
  if (FoldsColumns(kernel)) settings.end = TensorEnd::kRows;
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  if (tile.size() == 2) {
    settings.tile_m = tile[0];
    settings.tile_n = tile[1];
  }
  settings.turns = kernel.settings.contains("turns") && WordSetting(kernel, "turns") == "yes";
  if (settings.turns) settings.tile_m = 64;
  settings = WithHalves(settings, HalvesOf(kernel));
  settings.row_bytes = RowBytes(kernel, settings);
  settings.kept_steps = KeptSteps(kernel, settings);
  return settings;
}

std::int64_t SplitOf(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows, std::int64_t columns) {
  if (EndsOfParts(kernel) || RotationOf(kernel) > 0) return 1;
  return SplitFor(shape, TilesOf(shape, rows, columns), kernel.device->multiprocessors, 512);
}

bool SplitsK(const Kernel& kernel) { return kernel.settings.contains("split") && IntSetting(kernel, "split") != 1; }

}  // namespace hone::dsl
