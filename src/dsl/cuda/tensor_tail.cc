#include "dsl/cuda/tensor_tail.h"

#include <algorithm>

#include "base/rounding.h"
#include "dsl/cuda/matmul_choice.h"
#include "dsl/cuda/matmul_rows_end.h"
#include "dsl/cuda/matmul_settings.h"
#include "dsl/cuda/tensor_settings.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr std::int64_t kSmallTile = 64 * 128;  // two of which are on a multiprocessor at a time
constexpr double kCyclesAMicrosecond = 1750;   // at the clock that products leave
constexpr double kStartUs = 1.5;               // of the kernel that adds up parts of K
constexpr double kMovedAMicrosecond = 3.5e6;   // bytes of them
constexpr double kWaits = 7800;                // cycles, of who adds up what others have left

// A step of a tile goes by the tensor cores, by what comes from the second-level cache, or by how long a copy is on its
// way, both less where other multiprocessors are idle; and the end of a tile by its size.
struct TileCycles {
  // busy: tiles a multiprocessor
  TileCycles(std::int64_t rows, std::int64_t columns, double busy) {
    busy = std::min(busy, 1.0);
    const auto elements = static_cast<double>(rows * columns), lines = static_cast<double>(rows + columns);
    const double multiplied = 1.04 * elements / 32 + 59;
    const double copied = 1.02 * lines * 2 * (0.77 + 0.23 * busy) + 18, on_its_way = 240 + 80 * busy;
    step = std::max({multiplied, copied, on_its_way});
    end = 0.085 * elements + (columns % kEndBoxColumns == 0 ? 0 : 300);
    moved = elements * 0.074;
  }
  double step, end, moved;  // moved: its sums, one way
};

// Of K, each of which a stage holds.
std::int64_t StepsOf(const Kernel& kernel, const MatmulShape& shape) {
  return CeilDiv(shape.k.extent, TensorDepth(PrecisionOf(kernel)));
}

// Why the last tiles cannot be made in parts, or nothing.
std::optional<std::string> WhyNoTail(const Kernel& kernel) {
  if (!IsPlain(kernel)) return "sums that are promoted are not made in parts; try whole";
  if (EndsOfParts(kernel)) return "how many tiles there are is not known before; try whole";
  if (FoldsColumns(kernel)) return "rows are folded of tiles that are whole; try whole";
  const TensorSettings settings = TensorSettingsOf(kernel);
  if (settings.turns) return "a tile's halves in turns are of all K; try whole";
  if (settings.kept_steps > 0) return "K is so short that blocks keep all of B; try whole";
  return std::nullopt;
}

}  // namespace

TailParts PartsOfTail(std::int64_t tiles, std::int64_t blocks, std::int64_t steps) {
  const std::int64_t left = tiles % blocks;
  return {left, left == 0 ? 1 : std::min(blocks / left, steps)};
}

bool TailInParts(const Kernel& kernel) {
  return kernel.settings.contains("tail") && WordSetting(kernel, "tail") == "parts";
}

double WholeTilesCycles(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows, std::int64_t columns,
                        std::int64_t split) {
  const std::int64_t width = columns * ProductsAtATime(kernel), processors = kernel.device->multiprocessors,
                     tiles = TilesOf(shape, rows, columns) * split;
  const TileCycles cycles(rows, width, static_cast<double>(tiles) / static_cast<double>(processors));
  std::int64_t waves = CeilDiv(tiles, processors);
  if (rows * width <= kSmallTile && tiles > processors) waves += waves % 2;
  const double steps = static_cast<double>(StepsOf(kernel, shape)) / static_cast<double>(split);
  double all = static_cast<double>(waves) * (steps * cycles.step + cycles.end);
  if (split > 1) {
    const double moved =
        static_cast<double>(shape.m.extent * shape.n.extent * BatchesOf(shape) * split) * 2 * sizeof(float);
    all += kCyclesAMicrosecond * (kStartUs + moved / kMovedAMicrosecond);
  }
  return all;
}

std::optional<double> TailInPartsCycles(const Kernel& kernel, const MatmulShape& shape, std::int64_t rows,
                                        std::int64_t columns) {
  const std::int64_t width = columns * ProductsAtATime(kernel), processors = kernel.device->multiprocessors,
                     tiles = TilesOf(shape, rows, columns), steps = StepsOf(kernel, shape);
  const TileCycles cycles(rows, width, 1);
  const TailParts tail = PartsOfTail(tiles, processors, steps);
  if (tail.parts == 1 || rows * width <= kSmallTile) return std::nullopt;
  const auto all = [&](std::int64_t some) { return static_cast<double>(some) * cycles.step + cycles.end; };
  return static_cast<double>(tiles / processors) * all(steps) + all(CeilDiv(steps, tail.parts)) +
         static_cast<double>(tail.parts) * cycles.moved + kWaits;
}

std::vector<Setting> TensorTailValues(const Kernel& kernel) {
  if (IsScaled(kernel)) return {};
  const std::vector<std::int64_t> tile = TupleSetting(kernel, "tile");
  if (tile.size() != 2 || WhyNoTail(kernel)) return {Word("whole")};
  const MatmulShape shape = MatmulShape::WithHeads(kernel);
  const auto parts = TailInPartsCycles(kernel, shape, tile[0], tile[1]);
  if (!parts) return {Word("whole")};
  const bool pays = shape.m.extent > kFewRows && *parts < WholeTilesCycles(kernel, shape, tile[0], tile[1],
                                                                           SplitOf(kernel, shape, tile[0], tile[1]));
  return pays ? std::vector<Setting>{Word("parts"), Word("whole")} : std::vector<Setting>{Word("whole"), Word("parts")};
}

std::optional<std::string> CheckTensorTail(const Kernel& kernel, const Setting& value) {
  if (IsScaled(kernel)) return "only products of operands that lie as they are multiplied have it; remove it";
  if (auto why = CheckWord(value, {"whole", "parts"})) return why;
  return std::get<std::string>(value.value) == "parts" ? WhyNoTail(kernel) : std::nullopt;
}

}  // namespace hone::dsl
