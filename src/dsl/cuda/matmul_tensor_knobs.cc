#include "dsl/cuda/matmul_tensor_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/rounding.h"
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_end.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/cuda/matmul_settings.h"
#include "dsl/cuda/tensor_tail.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kDeepestBlock = 4096;  // as what is promoted
constexpr int kMostStagesOfA = 8;             // that are tried without being told
constexpr double kNarrowProducts = 1 << 24;   // one row, 4096 x 4096: 34 MB to read
// 128 x 128 x 128, of operands that need no packing. Reckoned: tiles of 64x64 take 3 us and 0.15 for each 64 of K
// (docs/measured/cuda_16bit.md); threads that multiply go through K one by one.
constexpr double kWorthTiles = 1 << 21;

}  // namespace

std::optional<std::string> WhyNoTensorCores(const Kernel& kernel) {
  if (const auto lacks = Lacks(*kernel.device, kTensorNeeds)) return *lacks;
  if (kernel.compute == DType::kF64) return "the product is computed in f64, which halves cannot make";
  if (MatmulShape::WithHeads(kernel).k.extent == 0) return "K is 0: there is nothing to multiply";
  return std::nullopt;
}

namespace {
// Of a tile that has whole pairs, which take so many.
std::int64_t FewestColumns(std::int64_t pairs) {
  std::int64_t columns = 64;
  while (columns % pairs != 0 && columns < 256) columns += 64;
  return columns;
}
}  // namespace

std::optional<std::string> WhyNoRotation(const Kernel& kernel, TensorPrecision precision) {
  const int distance = RotationOf(kernel);
  if (distance == 0) return std::nullopt;
  if (MatmulShape::WithHeads(kernel).row % (2 * distance) != 0)
    return "the columns of a pair are of batches that are multiplied by themselves";
  if (ScalesOperands(kernel, precision) && FewestColumns(2 * distance) > MostPromotedColumns(precision, 64))
    return fmt::format(
        "columns {} apart are in no tile whose sums are promoted, as operands that are no halves want it", distance);
  return std::nullopt;
}

std::optional<std::string> WhyNoBlocks(const Kernel& kernel, TensorPrecision precision) {
  const ScaleBlock block = BlockOf(kernel);
  const std::int64_t depth = TensorDepth(precision);
  if (block.depth % depth != 0 || block.depth > kDeepestBlock)
    return fmt::format("sums are scaled after a multiple of {} elements of K, {} at most, and here after {}", depth,
                       kDeepestBlock, block.depth);
  if (block.columns % 64 != 0 && block.columns < kernel.space[4].extent)
    return fmt::format("{} columns share a scale: a tile has as many registers for scales as it takes for 64",
                       block.columns);
  return std::nullopt;
}

namespace {
// Whether matrices would be packed of which no batch may have chosen one.
bool PacksUnchosen(const Kernel& kernel, const MatmulShape& shape, TensorPrecision precision) {
  if (!HasChoice(kernel)) return false;
  const std::vector<std::size_t> packed = PackedInputs(kernel, precision);
  return kernel.space[static_cast<std::size_t>(kernel.axes[0])].extent > BatchesOf(shape) &&
         std::ranges::any_of(packed, [](std::size_t input) { return input > 0; });
}
}  // namespace

std::optional<double> TensorCost(const Kernel& kernel, TensorPrecision precision) {
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  if (PacksUnchosen(kernel, shape, precision)) return std::nullopt;
  // The tensor cores keep too little of sums of reals of 8 bits for a result of 32.
  if (precision == TensorPrecision::kF8) {
    if (!MultipliesInPlace(kernel, precision) || !IsSmallFloat(kernel.target_type) || IsNarrow(shape))
      return std::nullopt;
    return IsLarge(shape) ? 1.2 : 2.5;
  }
  const bool halves = AllAre(kernel, DType::kF16) || FitHalves(kernel);
  const TensorPrecision natural = FitBrains(kernel) ? TensorPrecision::kBF16
                                  : halves          ? TensorPrecision::kF16
                                                    : TensorPrecision::kF32x3;
  if (precision != natural) return std::nullopt;
  // Few rows times what lies across K: dot products would not read it in order, and tiles without tensor cores multiply
  // 64 rows where there are 8. 28672 columns of K 4096 are 15 GFLOP of FP32 then, which take 0.25 ms at 60 TFLOP/s; the
  // tensor cores read as many bytes along K in 64 us (ways/matmul_rows.cc).
  if (IsNarrow(shape)) {
    const bool across = MultipliesInPlace(kernel, precision) && !AlongK(kernel, shape);
    return across && Products(shape) >= kNarrowProducts ? std::optional(1.5) : std::nullopt;
  }
  const bool tiles = std::min(shape.m.extent, shape.n.extent) > kFewRows && Products(shape) >= kWorthTiles;
  return IsLarge(shape) || (tiles && MultipliesInPlace(kernel, precision)) ? 1.5 : 3;
}

std::vector<std::size_t> TensorPacks(const Kernel& kernel) {
  const TensorSettings settings = TensorSettingsOf(kernel);
  std::vector<std::size_t> packed = PackedInputs(kernel, PrecisionOf(kernel));
  std::erase_if(packed, [&](std::size_t input) { return Splits(settings, input); });
  return packed;
}

std::vector<Setting> TensorProductsValues(const Kernel& kernel) {
  if (kernel.lets.empty()) return {};
  if (!WhyApart(kernel)) return {Word("together")};
  return {Word("apart")};
}
std::optional<std::string> CheckTensorProducts(const Kernel& kernel, const Setting& value) {
  if (kernel.lets.empty()) return "there is one product; remove it";
  if (auto why = CheckWord(value, {"together", "apart"})) return why;
  if (std::get<std::string>(value.value) == "apart") return std::nullopt;
  return WhyApart(kernel);
}

namespace {
// How many columns pairs that are rotated take.
std::int64_t ColumnsOfPairs(const Kernel& kernel) { return std::max(2 * RotationOf(kernel), 1); }
// Of all products that a block of so many rows makes.
std::int64_t MostColumns(const Kernel& kernel, std::int64_t rows) {
  return Promotes(kernel) ? MostPromotedColumns(PrecisionOf(kernel), rows) : 256;
}
// Why a tile has whole boxes of columns alone, or nothing.
std::optional<std::string> WhyNoHalfBox(const Kernel& kernel) {
  if (!IsPlain(kernel) || EndsOfParts(kernel) || FoldsColumns(kernel) || Together(kernel) || RotationOf(kernel) > 0)
    return fmt::format("the columns are a multiple of {} but of one plain product", kEndBoxColumns);
  if (!LieAlongK(kernel, PrecisionOf(kernel)))
    return fmt::format("the columns are a multiple of {} where operands lie across K", kEndBoxColumns);
  return std::nullopt;
}
// Up to 64 rows a block with one of such tiles has one consumer, whose end nothing hides. Halves of 128 rows that are
// made in turns are two tiles then, and neither has empty rows: 17 convolutions to 64 channels take up to 28 % less
// time so, 4 in the mean, the more the longer their chain is, and none more than 1 % more. Where operands of the end
// come in stages 64 x 64 x 56 x 56 takes 60 us so and 56 otherwise (docs/measured/cuda_convolutions.md). It takes tiles
// for two of each multiprocessor.
constexpr std::int64_t kHiddenEndK = 1024;
bool HidesEndOfFewRows(const Kernel& kernel, const MatmulShape& shape) {
  if (!IsPlain(kernel) || FoldsColumns(kernel) || shape.groups() > 0 || shape.m.extent > kFewRows ||
      shape.k.extent > kHiddenEndK || TilesOf(shape, 64, 256) <= 2 * kernel.device->multiprocessors)
    return false;
  return !EndsInStages(kernel, shape, {.precision = PrecisionOf(kernel), .tile_m = 64, .tile_n = 256});
}
}  // namespace

std::vector<Setting> TensorTileValues(const Kernel& kernel) {
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  // Up to 64 rows reading B is all that counts, and nothing of what was measured of others.
  const bool measured = IsPlain(kernel) && !EndsOfParts(kernel) && !FoldsColumns(kernel) && shape.m.extent > kFewRows;
  std::vector<std::array<std::int64_t, 2>> sizes;
  if (Promotes(kernel) && !IsScaled(kernel)) {
    sizes = {{128, 192}, {128, 128}, {64, 128}, {128, 64}};
  } else if (IsPlain(kernel)) {
    sizes = {{128, 256}, {128, 192}, {128, 128}, {64, 256}, {64, 128}, {128, 64}};
    if (EndsOfParts(kernel) || FoldsColumns(kernel)) sizes.erase(sizes.begin() + 1);
    if (measured) sizes.insert(sizes.end(), {{64, 192}, {64, 64}});
    // What is left of a tile of 96 or 160 columns behind whole boxes leaves in lines.
    if (measured && !WhyNoHalfBox(kernel)) sizes.insert(sizes.end(), {{128, 160}, {128, 96}, {64, 160}, {64, 96}});
  } else {
    sizes = {{128, 128}, {64, 128}, {128, 64}, {64, 64}};
  }
  std::erase_if(sizes,
                [&](const auto& size) { return size[1] * ProductsAtATime(kernel) > MostColumns(kernel, size[0]); });
  if (HalvesOf(kernel) != "before") sizes = {{kSplitRows, kSplitRows}};
  // A tile has both columns of each pair.
  std::erase_if(sizes, [&](const auto& size) { return size[1] % ColumnsOfPairs(kernel) != 0; });
  // Read by single columns, or leaving in lines, what the chain has is spilled beside sums of 256 columns.
  const auto operands = OperandsOf({kernel.epilogue});
  const bool in_pairs =
      std::ranges::all_of(operands, [&](int o) { return shape.n.strides[static_cast<std::size_t>(o)] == 1; });
  if (RotationOf(kernel) > 0 && ColumnsOfPairs(kernel) < 256 && (!in_pairs || CheckTiles(kernel)))
    std::erase_if(sizes, [](const auto& size) { return size[1] == 256; });
  // What the busiest multiprocessor has to do: small tiles read more for each product, parts of K are added up later.
  // Of groups, whose operands are not small, that counts twice: 524288 x 2880 x 2880 of 128 groups takes 13.0 ms by
  // 128x256 and 17.6 ms by 128x128 (docs/measured/cuda_workloads.md).
  // Of products of reals of 8 bits, which take half as long, reading is more of the time: 8192 x 4096 x 4096 takes 212
  // us by 128x192 and 231 by 128x128, 4096 x 4096 x 4096 as long by either (docs/measured/cuda_8bit.md).
  const bool eights = TensorElementBytes(PrecisionOf(kernel)) == 1;
  const double reads = eights ? 64 : EndsOfParts(kernel) ? 24 : 12;
  // Of 4096 x 7168 x 2048 with scales of blocks 128x128 takes 124 us, whose threads have two sums, and 128x192 136;
  // with scales of rows both take as long but for what they read (docs/measured/cuda_8bit.md).
  constexpr double kOneSum = 1.03;
  const auto cost = [&](const std::array<std::int64_t, 2>& size) {
    const std::int64_t processors = kernel.device->multiprocessors;
    const std::int64_t split = SplitOf(kernel, shape, size[0], size[1]);
    if (measured) {
      const double whole = WholeTilesCycles(kernel, shape, size[0], size[1], split);
      return std::min(whole, TailInPartsCycles(kernel, shape, size[0], size[1]).value_or(whole));
    }
    const std::int64_t tiles = TilesOf(shape, size[0], size[1]) * split;
    const std::int64_t waves = (tiles + processors - 1) / processors;
    double factor = 1 + reads / static_cast<double>(size[0]) + reads / static_cast<double>(size[1]);
    if (eights && Promotes(kernel) && !HoldsTwoSums(size[0], size[1] * ProductsAtATime(kernel))) factor *= kOneSum;
    return static_cast<double>(waves * size[0] * size[1]) / static_cast<double>(split) * factor *
           (split > 1 ? 1.15 : 1);
  };
  std::stable_sort(sizes.begin(), sizes.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  if (HidesEndOfFewRows(kernel, shape))
    std::ranges::stable_partition(sizes, [](const auto& size) { return size[0] == 128 && size[1] == 256; });
  std::vector<Setting> values;
  for (const auto& size : sizes) values.push_back(Tuple({size[0], size[1]}));
  return values;
}
std::optional<std::string> CheckTensorTile(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows x columns; try 128x128";
  const std::int64_t rows = (*tuple)[0], columns = (*tuple)[1];
  if (rows != 64 && rows != 128) return "the rows are 64 a warpgroup, of one or two; try 128x128";
  constexpr std::int64_t kColumns[] = {64, 96, 128, 160, 192, 256};
  if (std::ranges::find(kColumns, columns) == std::end(kColumns))
    return "the columns are 64, 96, 128, 160, 192 or 256; try 128x128";
  if (columns % kEndBoxColumns != 0) {
    if (auto why = WhyNoHalfBox(kernel)) return *why + "; try 128x128";
  }
  if (columns * ProductsAtATime(kernel) > 256)
    return fmt::format("{} products of {} columns are more than the registers hold, 256; try 128x{}",
                       ProductsOf(kernel), columns, ProductsOf(kernel) == 2 ? 128 : 64);
  if (columns * ProductsAtATime(kernel) > MostColumns(kernel, rows))
    return fmt::format("{} columns leave no registers for promoted sums; try 128x{}", columns * ProductsAtATime(kernel),
                       ProductsAtATime(kernel) > 1 ? 64 : 128);
  if (columns % ColumnsOfPairs(kernel) != 0)
    return fmt::format("pairs of columns are rotated in every {}, which a tile has as a whole; try 128x{}",
                       ColumnsOfPairs(kernel), FewestColumns(ColumnsOfPairs(kernel)));
  return std::nullopt;
}

// Why halves of the tile cannot be made in turns, or nothing.
std::optional<std::string> WhyNoTurns(const Kernel& kernel) {
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  if (!IsPlain(kernel)) return "only products whose sums are not promoted have it; try no";
  if (tile.size() != 2 || tile[0] != 128) return "a tile of 64 rows has no halves; try no";
  return std::nullopt;
}
std::vector<Setting> TensorTurnsValues(const Kernel& kernel) {
  if (WhyNoTurns(kernel)) return {};
  // A half reads as much of B as both together, so that more comes through L2: 768 of K take 3 to 6 % less time then,
  // since the end is a large part of it, 1024 takes 17 to 36 % more, 2048 and 3072 1 to 6 %, and tiles of 128 columns
  // 10 to 40 % (docs/measured/cuda_16bit.md). It takes tiles for every multiprocessor to have another turn.
  // What ends with folded rows has not been measured. Where operands of the end come in stages the other consumer would
  // wait for those, too: 12544 x 1024 x 256 takes 26.6 us so and 20.7 otherwise (docs/measured/cuda_layers.md).
  constexpr std::int64_t kShortK = 768;
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  const std::int64_t columns = TupleSetting(kernel, "tile")[1];
  const bool pays = !FoldsColumns(kernel) && !EndsInStages(kernel, shape, TensorSettingsOf(kernel)) &&
                    shape.k.extent <= kShortK && columns == 256 &&
                    TilesOf(shape, 128, columns) > kernel.device->multiprocessors;
  const bool hides = columns == 256 && HidesEndOfFewRows(kernel, shape);
  return pays || hides ? std::vector<Setting>{Word("yes"), Word("no")} : std::vector<Setting>{Word("no"), Word("yes")};
}
std::optional<std::string> CheckTensorTurns(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"no", "yes"})) return why;
  return std::get<std::string>(value.value) == "yes" ? WhyNoTurns(kernel) : std::nullopt;
}

std::vector<Setting> TensorStagesValues(const Kernel& kernel) {
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = settings.kept_steps > 0 ? kMostStagesOfA : kMostStages;
  while (settings.stages > 2 && CheckTensor(kernel.device->limits, settings)) --settings.stages;
  std::vector<Setting> values = {Whole(settings.stages)};
  if (settings.stages > 2) values.push_back(Whole(settings.stages - 1));
  // As many as leave room for a second block, which comes first where there are tiles for it.
  const std::int64_t most = settings.stages;
  while (settings.stages > 2 && TensorBlocksAProcessor(kernel.device->limits, settings) < 2) --settings.stages;
  if (TensorBlocksAProcessor(kernel.device->limits, settings) == 2 && settings.stages + 1 < most) {
    const bool many =
        TilesOf(MatmulShape::WithHeads(kernel), settings.tile_m, settings.tile_n) > kernel.device->multiprocessors;
    values.insert(many ? values.begin() : values.end(), Whole(settings.stages));
  }
  return values;
}
std::optional<std::string> CheckTensorStages(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 2, 12)) return why;
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = static_cast<int>(std::get<std::int64_t>(value.value));
  return CheckTensor(kernel.device->limits, settings);
}

std::vector<Setting> TensorPromoteValues(const Kernel& kernel) {
  if (PrecisionOf(kernel) == TensorPrecision::kF8) return {Whole(128), Whole(256), Whole(512), Whole(0)};
  if (!Promotes(kernel)) return {Whole(0)};
  if (HalvesOf(kernel) != "before") return {Whole(kSplitDepth)};
  if (PrecisionOf(kernel) == TensorPrecision::kF16) return {Whole(256), Whole(128)};
  // 128 is no faster, and near the end of FP32's budget on positive inputs (docs/measured/cuda_matmul.md).
  return {Whole(64)};
}
std::optional<std::string> CheckTensorPromote(const Kernel& kernel, const Setting& value) {
  if (PrecisionOf(kernel) == TensorPrecision::kF8) {
    const auto* depth = std::get_if<std::int64_t>(&value.value);
    if (!depth || *depth < 0 || *depth > 4096 || *depth % TensorDepth(TensorPrecision::kF8) != 0)
      return "it is 0, or a multiple of 128 up to 4096; try 128";
    return std::nullopt;
  }
  if (!Promotes(kernel)) return CheckRange(value, 0, 512);
  const auto* whole = std::get_if<std::int64_t>(&value.value);
  if (!whole || (*whole != 64 && *whole != 128 && *whole != 256 && *whole != 512))
    return "it is 64, 128, 256 or 512; try 64";
  if (HalvesOf(kernel) != "before" && *whole != kSplitDepth)
    return fmt::format("what becomes halves where it is multiplied has a scale for {0} of K; try {0}", kSplitDepth);
  return std::nullopt;
}

std::vector<Setting> TensorSumsValues(const Kernel& kernel) {
  if (IsPlain(kernel)) return {};
  return CheckTensorSums(kernel, Whole(2)) ? std::vector<Setting>{Whole(1)} : std::vector<Setting>{Whole(2), Whole(1)};
}
std::optional<std::string> CheckTensorSums(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 2)) return why;
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = 2;
  settings.sums = static_cast<int>(std::get<std::int64_t>(value.value));
  return settings.sums == 2 ? CheckTensor(kernel.device->limits, settings) : std::nullopt;
}

namespace {
// Whether lines of some operand that lies along K begin within 128 bytes.
bool LinesAreAskew(const Kernel& kernel, const MatmulShape& shape) {
  if (!LieAlongK(kernel, PrecisionOf(kernel))) return false;
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    const auto o = static_cast<std::size_t>(InputOf(kernel, i)->buffer);
    const LoopDim& rows = i == 0 ? shape.m : shape.n;
    if (rows.strides[o] * TensorElementBytes(PrecisionOf(kernel)) % kTensorRowBytes != 0) return true;
  }
  return false;
}
}  // namespace

std::vector<Setting> TensorClusterValues(const Kernel& kernel) {
  if (HalvesOf(kernel) != "before") return {Whole(1)};
  // Where two parts are read of both operands, sharing gains nothing (docs/measured/cuda_matmul.md).
  if (PrecisionOf(kernel) == TensorPrecision::kF32x3) return {Whole(1)};
  // Where one tile has all rows, the other block of a pair would have none: a decoder's step of 16 rows takes 261 us
  // then, not 271 (docs/measured/cuda_workloads.md).
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  if (shape.groups() == 0 && shape.m.extent <= TensorSettingsOf(kernel).tile_m) return {Whole(1)};
  // Two products read more of their weights: 931 us, not 946 (docs/measured/cuda_16bit.md).
  if (Together(kernel)) return {Whole(2), Whole(1)};
  // The copy engine takes twice as long for lines of which each lies in two of the cache's: 3000 x 3000 x 3000 takes 96
  // us so, and 128 by blocks that share nothing (docs/measured/cuda_16bit.md).
  constexpr std::int64_t kMeasuredK = 1024;
  if (IsPlain(kernel) && !EndsOfParts(kernel) && shape.k.extent >= kMeasuredK && LinesAreAskew(kernel, shape))
    return {Whole(2), Whole(1)};
  // Where nothing is written, what is read is all: 1.42 ms, not 1.44 (docs/measured/cuda_workloads.md).
  if (FoldsColumns(kernel)) return {Whole(2), Whole(1)};
  return {Whole(1), Whole(2)};
}
std::optional<std::string> CheckTensorCluster(const Kernel& kernel, const Setting& value) {
  return CheckRange(value, 1, HalvesOf(kernel) == "before" ? 2 : 1);
}

std::vector<Setting> TensorSplitValues(const Kernel& kernel) {
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  if (tile.size() != 2 || Together(kernel) || TensorSettingsOf(kernel).turns || RotationOf(kernel) > 0 ||
      TailInParts(kernel))
    return {Whole(1)};
  return SplitsAround(shape, SplitOf(kernel, shape, tile[0], tile[1]));
}
std::optional<std::string> CheckTensorSplit(const Kernel& kernel, const Setting& value) {
  if (TensorSettingsOf(kernel).turns && !(value == Whole(1))) return "a tile's halves in turns are of all K; try 1";
  if (TailInParts(kernel) && !(value == Whole(1))) return "the last tiles are made in parts of K already; try 1";
  if (RotationOf(kernel) > 0 && !(value == Whole(1)))
    return "parts of K are added up where one column of a pair is; try 1";
  return Together(kernel) ? CheckRange(value, 1, 1) : CheckSplitK(kernel, value);
}

namespace {
bool EndsInHalfBox(const Kernel& kernel) {
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  return tile.size() == 2 && tile[1] % kEndBoxColumns != 0;
}
}  // namespace

std::vector<Setting> TensorEndValues(const Kernel& kernel) {
  if (IsScaled(kernel)) return {};
  if (SplitsK(kernel) || CheckTiles(kernel) || EndsInHalfBox(kernel)) return {Word("lines")};
  // Slower by 3 % where blocks have scales and a thread one sum (docs/measured/cuda_8bit.md), else faster by 1 to 7 %
  // (cuda_16bit.md there).
  if (HasBlocks(kernel) && !(kernel.settings.contains("sums") && IntSetting(kernel, "sums") == 2))
    return {Word("lines"), Word("tiles")};
  return {Word("tiles"), Word("lines")};
}
std::optional<std::string> CheckTensorEnd(const Kernel& kernel, const Setting& value) {
  if (IsScaled(kernel)) return "only products of operands that lie as they are multiplied have it; remove it";
  if (auto why = CheckWord(value, {"lines", "tiles"})) return why;
  if (std::get<std::string>(value.value) == "lines") return std::nullopt;
  if (SplitsK(kernel)) return "parts of K are added up in f32; try lines";
  if (EndsInHalfBox(kernel)) return fmt::format("the copy engine has boxes of {} columns; try lines", kEndBoxColumns);
  if (auto why = CheckTiles(kernel)) return why;
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = static_cast<int>(IntSetting(kernel, "stages"));
  settings.end = TensorEnd::kTiles;
  return CheckTensor(kernel.device->limits, settings);
}

void EmitTensorWay(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out) {
  EmitTensorProduct(program, kernel, out, nullptr);
}

void EmitTensorProduct(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, const ConvProduct* conv) {
  TensorSettings settings = TensorSettingsOf(kernel);
  settings.stages = static_cast<int>(IntSetting(kernel, "stages"));
  if (kernel.settings.contains("promote")) settings.promote = IntSetting(kernel, "promote");
  if (kernel.settings.contains("sums")) settings.sums = static_cast<int>(IntSetting(kernel, "sums"));
  settings.cluster = static_cast<int>(IntSetting(kernel, "cluster"));
  if (kernel.settings.contains("split")) settings.split = IntSetting(kernel, "split");
  settings.tail_in_parts = TailInParts(kernel);
  // A product by itself, of several that the statement makes, is of f32.
  if (kernel.settings.contains("end") && WordSetting(kernel, "end") == "tiles" && !CheckTiles(kernel))
    settings.end = TensorEnd::kTiles;
  EmitMatmulTensor(program, kernel, out, settings, conv);
}

}  // namespace hone::dsl
