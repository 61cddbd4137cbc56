#include "dsl/cuda/conv_patch_cut.h"

#include <algorithm>
#include <functional>

#include "base/rounding.h"
#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/conv_phases.h"
#include "target/device_model.h"

namespace hone::dsl {
namespace {

constexpr std::size_t kZ = 0, kY = 1, kX = 2;
constexpr std::int64_t kMostShared = 100 << 10;  // two blocks to a multiprocessor at least
constexpr std::int64_t kMostRead = 4;            // neighbours at once: 8 or 16 bytes
constexpr std::int64_t kSector = 32;             // bytes that memory is written by
constexpr std::int64_t kWritten = 16;            // bytes of neighbours of the result, at most
constexpr std::int64_t kStagedSums = 20 << 10;   // bytes of sums that pass through shared memory at once, at most
constexpr std::int64_t kRowsOfTile[] = {1, 2, 4, 8, 16};

// How many neighbours of a line are read as one where strips of so many outputs (0: whole lines) begin: all of them or
// none are in the image.
std::int64_t NeighboursRead(const Kernel& kernel, const WindowDim& x, std::int64_t strip) {
  const KernelOperand& view = InputOperand(kernel, 0);
  const std::size_t column = 3 + 3 * SpatialOf(kernel);
  if (view.strides[column] != 1) return 1;
  std::int64_t load = kMostRead;
  const auto fits = [&] {
    bool all = x.in % load == 0 && strip * x.stride % load == 0 && view.offset % load == 0;
    for (std::size_t d = 0; d < view.strides.size(); ++d) all &= d == column || view.strides[d] % load == 0;
    return all;
  };
  while (!fits()) load /= 2;
  return load;
}

// How long all tiles take, in products of a term with a pixel and an output: those products and the passage of sums
// through shared memory, also of pixels that are none; what a patch takes on its way; where runs of the result begin
// and end; fewer sectors written in part where lines of it are whole ones; and the threads' meetings. Fitted to 117
// timings of 17 convolutions (docs/measured/cuda_convolutions.md): what it finds best took 1.4 % longer than the best.
double TilesTake(const Kernel& kernel, const PatchCut& cut) {
  constexpr double kOfElement = 36, kOfRun = 800, kOfEvenRun = 200, kOfWarp = 1700;
  const Convolution conv = TogetherOf(kernel);
  const std::int64_t made = cut.warps * cut.warp_pixels;
  const std::int64_t elements = cut.held * conv.dims[kZ].window * cut.lines * cut.wide;
  const std::int64_t runs = MakesChannelsLast(kernel) || cut.strip == conv.dims[kX].out ? 1 : cut.rows;
  const bool even = conv.dims[kX].out * static_cast<std::int64_t>(Bytes(kernel.target_type)) % kSector == 0;
  const double of_run = even ? kOfEvenRun : kOfRun;
  const std::int64_t tiles = CeilDiv(conv.dims[kY].out, cut.rows) * CeilDiv(conv.dims[kX].out, cut.strip);
  return static_cast<double>(tiles * cut.parts) *
         (static_cast<double>(made * cut.part * (cut.steps + 1)) + kOfElement * static_cast<double>(elements) +
          of_run * static_cast<double>(runs * cut.part) + kOfWarp * static_cast<double>(cut.warps));
}

}  // namespace

std::int64_t PhasesBeside(const Kernel& kernel) {
  return MakesChannelsLast(kernel) ? 1 : static_cast<std::int64_t>(Convolution(kernel).phases[kX].size());
}

// A thread has 64 sums at most.
void PatchCut::MakeTiles(const Kernel& kernel, const Convolution& whole, const Convolution& conv) {
  parts = CeilDiv(conv.made, kMostOutputsOfPatch);
  const std::int64_t least = CeilDiv(conv.made, parts), bytes = static_cast<std::int64_t>(Bytes(kernel.target_type));
  if (!MakesChannelsLast(kernel)) {
    part = RoundUp(least, 16);
    row_tiles = part / 16;
    column_tiles = part > kMostOutputsOfPatch / 2 ? 4 : 8;
    pack = kWritten / bytes;
    return;
  }
  for (pack = kWritten / bytes; pack > 1; pack /= 2) {
    if (whole.made % pack == 0 && RoundUp(least, 4 * pack) == RoundUp(least, 8)) break;
  }
  part = RoundUp(least, std::max<std::int64_t>(8, 4 * pack));
  column_tiles = part / 8;
  row_tiles = part > kMostOutputsOfPatch / 2 ? 2 : 4;
}

PatchCut::PatchCut(const Kernel& kernel, std::int64_t rows_wanted, std::int64_t pixels_wanted)
    : floats(Bytes(InputType(kernel, 0)) == 4) {
  const Convolution as_written(kernel), conv = TogetherOf(kernel);
  const WindowDim &z = conv.dims[kZ], &y = conv.dims[kY], &x = conv.dims[kX];
  held = floats ? conv.channels : RoundUp(conv.channels, 2);
  MakeTiles(kernel, as_written, conv);
  const bool last = MakesChannelsLast(kernel);
  warp_pixels = last ? 16 * row_tiles : 8 * column_tiles;
  warps = std::max<std::int64_t>(1, pixels_wanted / warp_pixels);
  rows = std::min(rows_wanted, y.out);
  const std::int64_t across = std::max<std::int64_t>(1, warps * warp_pixels / rows);
  strip = std::min(across, CeilDiv(x.out, CeilDiv(x.out, across)));
  const bool whole = strip == x.out;
  if (const std::int64_t even = RoundUp(strip, 8); even <= across && (last || !whole)) strip = even;
  if (!last) {
    const std::int64_t beside = PhasesBeside(kernel), line = as_written.dims[kX].out;
    const bool one = whole && as_written.phases[kY].size() == 1 && line == x.out * beside;
    const std::int64_t run = (one ? rows : 1) * strip * beside, all = one ? line * y.out : line;
    while (pack > 1 && (run % pack != 0 || all % pack != 0)) pack /= 2;
  }
  lines = (rows - 1) * y.stride + y.Reach();
  load = NeighboursRead(kernel, x, whole ? 0 : strip);
  shift = (load - x.padding % load) % load;
  wide = RoundUp(shift + (strip - 1) * x.stride + x.Reach(), load);
  // Four channels of eight neighbouring pixels are in banks of their own.
  plane = RoundUp(z.window * lines * wide, 32) + 8 * std::min<std::int64_t>(x.stride, 2);
  steps = CeilDiv(conv.Taps() * held, floats ? 8 : 16);
  const std::int64_t ahead = z.window * lines * wide * held, elements = floats ? conv.channels * plane : ahead;
  const std::int64_t size = floats ? 4 : 2;
  places_at = steps * part * 32;
  patch_at = places_at + RoundUp(steps * 4 * 8, 16);
  ahead_at = patch_at + RoundUp(elements * size, 16);
  shared = ahead_at + RoundUp(ahead * size, 16);
  if (last) return;
  const std::int64_t sums_of_tile = 16 * (warps * warp_pixels + 8) * 4;
  staged_tiles = std::clamp<std::int64_t>(kStagedSums / sums_of_tile, 1, row_tiles);
  const std::int64_t more =
      RoundUp(std::max(staged_tiles * sums_of_tile, ahead_at - patch_at), 16) - (ahead_at - patch_at);
  ahead_at += more;
  shared += more;
}

std::int64_t MostSharedByPatch(const Kernel& kernel) {
  return std::min<std::int64_t>(kMostShared, kernel.device->limits.block_shared_bytes);
}
bool Fits(const Kernel& kernel, const PatchCut& cut) { return cut.shared <= MostSharedByPatch(kernel); }

std::vector<std::pair<double, std::int64_t>> RowsByTime(const Kernel& kernel, std::int64_t pixels) {
  std::vector<std::pair<double, std::int64_t>> rows;
  const std::int64_t lines = TogetherOf(kernel).dims[kY].out;
  for (const std::int64_t r : kRowsOfTile) {
    const PatchCut cut(kernel, r, pixels);
    if (r < 2 * lines && Fits(kernel, cut)) rows.emplace_back(TilesTake(kernel, cut), r);
  }
  std::ranges::stable_sort(rows, std::less(), &std::pair<double, std::int64_t>::first);
  return rows;
}

}  // namespace hone::dsl
