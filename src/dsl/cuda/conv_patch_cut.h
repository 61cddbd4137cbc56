// How the work of a convolution from patches (dsl/cuda/ways/conv_patch.cc) is cut, and which cut is best.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/convolution.h"

namespace hone::dsl {

inline constexpr std::int64_t kMostOutputsOfPatch = 64;  // that a warp makes at once, where pixels lie side by side

// Whose phases of x are written beside each other.
std::int64_t PhasesBeside(const Kernel& kernel);

// How the work is cut, and where what lies in shared memory.
struct PatchCut {
  PatchCut(const Kernel& kernel, std::int64_t rows_wanted, std::int64_t pixels_wanted);

  bool floats = true;
  std::int64_t held = 1;                        // channels of the patch: halves lie by two
  std::int64_t rows = 1, strip = 1;             // of a tile
  std::int64_t lines = 1, wide = 1, plane = 1;  // of the patch; elements of a channel, of f32
  std::int64_t load = 1, shift = 0;  // neighbours that are read as one; columns before the first that is needed
  std::int64_t part = 8, parts = 1;  // outputs that a block makes; grids of blocks
  std::int64_t row_tiles = 1, column_tiles = 1, staged_tiles = 1, warp_pixels = 1, warps = 1;
  std::int64_t steps = 1, pack = 1;
  std::int64_t places_at = 0, patch_at = 0, ahead_at = 0, shared = 0;  // bytes

 private:
  void MakeTiles(const Kernel& kernel, const Convolution& whole, const Convolution& conv);
};

std::int64_t MostSharedByPatch(const Kernel& kernel);
bool Fits(const Kernel& kernel, const PatchCut& cut);

// Rows of outputs of a tile that fit, and how long all tiles take with them, the best first.
std::vector<std::pair<double, std::int64_t>> RowsByTime(const Kernel& kernel, std::int64_t pixels);

}  // namespace hone::dsl
