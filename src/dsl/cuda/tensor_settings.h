// What a product on the tensor cores of compute capability 9.0 can be set to (matmul_tensor.h says how it goes), and
// what follows from that: threads, shared memory, and what cannot be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "target/device_model.h"

namespace hone::dsl {

// How the result leaves: a warp's lines at a time, boxes that the copy engine writes, or rows that are folded.
enum class TensorEnd : std::uint8_t { kLines, kTiles, kRows };
enum class TensorPrecision : std::uint8_t { kF32x3, kF16, kBF16, kTF32, kF8, kI8 };

struct TensorSettings {
  TensorPrecision precision = TensorPrecision::kF32x3;
  std::int64_t tile_m = 128, tile_n = 128;  // 64 rows a warpgroup
  std::int64_t row_bytes = 128;  // of K in a stage; 64 or 32, so that little of a short K's is beyond its end
  std::int64_t kept_steps = 0;   // of B: all of a K so short that a block keeps them; 0 = they come anew
  int stages = 3;
  std::int64_t promote = 64;  // of K; a multiple of TensorDepth; 0 = never
  int cluster = 1;            // blocks, one above the other, that share their tiles of B
  std::int64_t split = 1;     // parts of K, for blocks of their own; a second kernel adds them up in order
  std::int64_t products = 1;  // of one A and so many right operands, tile_n columns of each
  TensorEnd end = TensorEnd::kLines;
  std::int64_t groups = 0;                  // of rows, each with a B of its own; 0 = all rows have the same
  bool segments = false;                    // of K, a product each
  bool turns = false;                       // two consumers take turns, tile_m is 64
  bool tail_in_parts = false;               // the last tiles are made in parts of K (tensor_tail.h)
  bool splits_a = false, splits_b = false;  // halves are made of its tiles where they are multiplied (matmul_halves.h)
  int sums = 1;  // of `promote` elements, that a thread has: 2, one is promoted while the other is made
};

inline constexpr std::int64_t kTensorRowBytes = 128;  // of K in a stage, at most
inline constexpr std::int64_t kMostGroups = 1024;
// On the way out through shared memory: floats from one of a warp's lines to the next, padded so that pairs of eight
// rows lie in different banks; and a box of 64 rows by so many columns of 16 bits, of which each warpgroup has two, one
// that is written while the other is copied.
inline constexpr std::int64_t kEndLineStride = 40, kEndBoxColumns = 64, kEndRowBytes = kEndBoxColumns * 2,
                              kEndBoxBytes = 64 * kEndRowBytes;

// Bytes of an element as it is multiplied, and elements of K in a stage.
std::int64_t TensorElementBytes(TensorPrecision precision);
std::int64_t TensorDepth(TensorPrecision precision);
// Columns of a tile of so many rows whose sums are promoted, at most: what registers there are.
std::int64_t MostPromotedColumns(TensorPrecision precision, std::int64_t tile_m);
// Whether there are registers for two sums of a tile's elements beside what they are promoted to.
bool HoldsTwoSums(std::int64_t tile_m, std::int64_t columns);
// Parts that an operand is packed as, and columns of all products, which are one to wgmma.
std::int64_t TensorParts(const TensorSettings& settings);
std::int64_t TensorWidth(const TensorSettings& settings);
// Warpgroups that make halves of tiles of f32, each of an operand's of kSplitRows x kSplitDepth; bytes of such a tile;
// whether an operand (0: A, 1: B, from 2 on: others) has one.
inline constexpr std::int64_t kSplitRows = 128, kSplitDepth = 64, kSplitRawBytes = kSplitRows * kSplitDepth * 4;
inline std::int64_t TensorSplitters(const TensorSettings& settings) {
  return (settings.splits_a ? 1 : 0) + (settings.splits_b ? 1 : 0);
}
inline bool Splits(const TensorSettings& settings, std::size_t input) {
  return (input == 0 && settings.splits_a) || (input == 1 && settings.splits_b);
}
// Whether a tile's sums are whole numbers of 32 bits.
inline bool SumsAreWhole(const TensorSettings& settings) { return settings.precision == TensorPrecision::kI8; }
// Warpgroups that multiply.
std::int64_t TensorConsumers(const TensorSettings& settings);
// Bytes of shared memory that B takes where it is kept, behind the stages; both; and all that a block takes.
std::int64_t TensorKeptBytes(const TensorSettings& settings);
std::int64_t TensorRingBytes(const TensorSettings& settings);
std::int64_t TensorSharedBytes(const TensorSettings& settings);
// Of a stage; of the scales beside one, for which there is room also where there are none, but where results leave
// otherwise than by lines; of what consumers end with, behind the stages; of barriers and where groups of rows end.
std::int64_t TensorStageBytes(const TensorSettings& settings);
std::int64_t TensorScaleBytes(const TensorSettings& settings);
std::int64_t TensorEndBytes(const TensorSettings& settings);
std::int64_t TensorStaticBytes(const TensorSettings& settings);
// 2 where two blocks of one consumer fit into a multiprocessor, else 1.
std::int64_t TensorBlocksAProcessor(const MultiprocessorLimits& limits, const TensorSettings& settings);
// Why the settings cannot be, or nothing.
std::optional<std::string> CheckTensor(const MultiprocessorLimits& limits, const TensorSettings& settings);

}  // namespace hone::dsl
