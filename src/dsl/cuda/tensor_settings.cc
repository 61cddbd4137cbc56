#include "dsl/cuda/tensor_settings.h"

#include <fmt/format.h>

namespace hone::dsl {

namespace {
constexpr std::int64_t kTwoSumsColumns = 128;
}

std::int64_t TensorParts(const TensorSettings& settings) {
  return settings.precision == TensorPrecision::kF32x3 ? 2 : 1;
}
std::int64_t TensorWidth(const TensorSettings& settings) { return settings.products * settings.tile_n; }
std::int64_t TensorStageBytes(const TensorSettings& settings) {
  const std::int64_t lines = settings.tile_m + (settings.kept_steps > 0 ? 0 : TensorWidth(settings));
  return lines * settings.row_bytes * TensorParts(settings);
}
std::int64_t TensorScaleBytes(const TensorSettings& settings) {
  const bool scales = settings.end == TensorEnd::kLines || settings.precision == TensorPrecision::kF32x3;
  return scales ? (settings.tile_m + TensorWidth(settings)) * 4 : 0;
}
std::int64_t TensorEndBytes(const TensorSettings& settings) {
  switch (settings.end) {
    case TensorEnd::kTiles: return TensorConsumers(settings) * 2 * kEndBoxBytes;
    case TensorEnd::kRows: return 0;
    default: return TensorConsumers(settings) * 64 * kEndLineStride * 4;
  }
}
std::int64_t TensorStaticBytes(const TensorSettings& settings) { return 256 + settings.groups * 8; }

std::int64_t TensorElementBytes(TensorPrecision precision) {
  if (precision == TensorPrecision::kTF32) return 4;
  return precision == TensorPrecision::kF8 || precision == TensorPrecision::kI8 ? 1 : 2;
}
std::int64_t TensorDepth(TensorPrecision precision) { return kTensorRowBytes / TensorElementBytes(precision); }

// Where there are scales, they are in registers, too; and one consumer of two blocks has fewer of those than two of
// one.
std::int64_t MostPromotedColumns(TensorPrecision precision, std::int64_t tile_m) {
  return precision == TensorPrecision::kF8 && tile_m == 128 ? 192 : 128;
}

// With one consumer two blocks are on a multiprocessor, which have fewer registers.
bool HoldsTwoSums(std::int64_t tile_m, std::int64_t columns) { return tile_m == 128 && columns <= kTwoSumsColumns; }

std::int64_t TensorConsumers(const TensorSettings& settings) { return settings.turns ? 2 : settings.tile_m / 64; }

std::int64_t TensorKeptBytes(const TensorSettings& settings) {
  return settings.kept_steps * TensorWidth(settings) * settings.row_bytes;
}

std::int64_t TensorRingBytes(const TensorSettings& settings) {
  return settings.stages * TensorStageBytes(settings) + (settings.stages + 1) * TensorScaleBytes(settings) +
         TensorKeptBytes(settings) + TensorSplitters(settings) * kSplitRawBytes;
}

std::int64_t TensorSharedBytes(const TensorSettings& settings) {
  // Where the first stage begins is rounded up; behind the stages is what the consumers end with.
  return TensorRingBytes(settings) + 1024 + TensorEndBytes(settings);
}

std::int64_t TensorBlocksAProcessor(const MultiprocessorLimits& limits, const TensorSettings& settings) {
  // A tile of 256 columns wants more registers than half of a multiprocessor has for a block.
  return TensorConsumers(settings) == 1 && TensorWidth(settings) < 256 &&
                 2 * (TensorSharedBytes(settings) + TensorStaticBytes(settings) + 1792) <= limits.block_shared_bytes
             ? 2
             : 1;
}

std::optional<std::string> CheckTensor(const MultiprocessorLimits& limits, const TensorSettings& settings) {
  if (settings.stages < 2) return "a ring has 2 stages at least";
  if (TensorWidth(settings) > 256) {
    return fmt::format("{} products of {} columns are more than the registers hold, 256; try fewer columns",
                       settings.products, settings.tile_n);
  }
  if (settings.promote > 0 && TensorWidth(settings) > MostPromotedColumns(settings.precision, settings.tile_m))
    return fmt::format("tiles of {} columns leave no registers for promoted sums; try 128x128", TensorWidth(settings));
  if (TensorSplitters(settings) > 0) {
    if (settings.tile_m != kSplitRows || settings.tile_n != kSplitRows)
      return fmt::format("halves are made of tiles of {0}x{0}; try before", kSplitRows);
    if (settings.promote != kSplitDepth) return fmt::format("halves have a scale for {} of K; try before", kSplitDepth);
    if (settings.cluster != 1) return "blocks that share their tiles of B make no halves of them; try before";
  }
  if (settings.sums == 2) {
    if (settings.promote != TensorDepth(settings.precision))
      return fmt::format("two sums are of a stage each, {} elements; try 1", TensorDepth(settings.precision));
    if (!HoldsTwoSums(settings.tile_m, TensorWidth(settings)))
      return fmt::format("registers hold two sums of tiles of 128 rows and {} columns at most; try 1", kTwoSumsColumns);
  }
  const std::int64_t beside = TensorStaticBytes(settings);
  if (TensorSharedBytes(settings) + beside > limits.block_shared_bytes) {
    return fmt::format(
        "{} stages of {} bytes are more than a block's {} bytes of shared memory; try {}", settings.stages,
        TensorStageBytes(settings), limits.block_shared_bytes,
        (limits.block_shared_bytes - beside - 1024 - TensorScaleBytes(settings) - TensorEndBytes(settings) -
         TensorKeptBytes(settings) - TensorSplitters(settings) * kSplitRawBytes) /
            (TensorStageBytes(settings) + TensorScaleBytes(settings)));
  }
  return std::nullopt;
}

}  // namespace hone::dsl
