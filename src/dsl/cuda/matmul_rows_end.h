// The end of tiles whose rows are folded (families/matmul_reduce.cc): what a row has in a tile becomes one value, or
// two of a sum of exponentials or of an extreme whose column is wanted, and a second kernel folds those of a row's
// tiles. Groups of columns that lie in a tile become a value of the result each, and there is no second kernel. The
// products are never in memory.
#pragma once

#include <optional>
#include <string>

#include "dsl/cuda/matmul_end.h"
#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

// Whether the kernel folds the columns of its products.
bool FoldsColumns(const Kernel& kernel);

// Why tiles cannot fold columns in such groups, or nothing.
std::optional<std::string> WhyNoGroupsOfColumns(const Kernel& kernel);

// Memory of the plan for what rows have in tiles of so many columns: [batch, m, tile], of a sum of exponentials with
// the largest score before what is summed, of an extreme with its column behind it. Its name, which the tiles have as
// `partial`.
std::string RowParts(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, std::int64_t tile_n);
// The launch of the tiles reads what scores are made of, and writes the parts, or the result of groups of columns.
void ReadScores(const Kernel& kernel, const MatmulText& text, const std::string& parts,
                DeviceWriter::LaunchShape& launch);

// The lines that end a tile; and the kernel behind all of them.
void EmitRowsEnd(const TensorTile& tile);
void EmitRowsTogether(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, const std::string& parts,
                      std::int64_t tile_n);

}  // namespace hone::dsl
