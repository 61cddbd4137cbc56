// The end of tiles that leave in lines: a warp's sums go through shared memory, so that it reads and writes whole lines
// of the target, whatever its type, and whether or not rows and columns are whole.
#pragma once

#include "dsl/cuda/matmul_end.h"

namespace hone::dsl {

// The lines that end a tile, before its last products are waited for and behind them.
void BeginLinesEnd(const TensorTile& tile);
void EmitLinesEnd(const TensorTile& tile);

}  // namespace hone::dsl
