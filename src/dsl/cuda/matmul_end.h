// The end of a tile that the tensor cores have made: from the registers of a warpgroup, as wgmma leaves them, through
// the chain and shared memory to the target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/conv_phases.h"
#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/tensor_settings.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

// What the text around an end has: 64 rows of the tile are a warpgroup's, whose first is `m0 + warpgroup * 64` (`m0`
// where they take turns), and whose thread has the number `thread`. The tile's first column is `n0`.
struct TensorTile {
  const KernelProgram& program;
  const Kernel& kernel;
  DeviceWriter& out;
  const MatmulText& text;
  const TensorSettings& settings;
  std::string sums;                  // the registers: for each product those of tile_n columns
  std::vector<std::string> batches;  // the batch's indices
  std::string rows_end = {};         // where the tile's rows end, if that is not where the matrix does
  // Where K is split: memory [part, batch, m, n] that the sums go to as they are, without the chain. Where rows are
  // folded: what RowParts gave.
  std::string partial = {};
  const ConvPhase* apart = nullptr;  // whose results lie apart in the target
};

// What stands at a place of a thread's sums where pairs of columns so far apart are rotated.
std::string RotatedText(int distance, const TensorTile& tile, const std::string& place);

// Why a result of this kind cannot leave in tiles, or nothing.
std::optional<std::string> CheckTiles(const Kernel& kernel);

// Lines before the loop over tiles; those that end a tile, before its last products are waited for and behind them;
// and those behind the loop.
void OpenTileEnd(DeviceWriter& out, const TensorSettings& settings);
void BeginTileEnd(const TensorTile& tile);
void EmitTileEnd(const TensorTile& tile);
void CloseTileEnd(DeviceWriter& out, const TensorSettings& settings);

}  // namespace hone::dsl
