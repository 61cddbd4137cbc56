#include "dsl/cuda/stored_weights_knobs.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::dsl {
namespace {

constexpr std::int64_t kSumsBytes = 48 << 10;

// What the warps of a block make.
std::int64_t SumsBytes(const StoredWeights& weights, std::int64_t columns, std::int64_t warps) {
  return warps * 8 * EightsOf(weights) * (columns + 1) * 4;
}
// A table that they share has two f32 for each byte.
std::int64_t RoomForSums(const StoredWeights& weights) { return kSumsBytes - (weights.table ? 256 * 8 : 0); }

StoredWeights Of(const Kernel& kernel) { return std::get<StoredWeights>(StoredWeightsOf(kernel)); }

// On an H200, K 4096 and 16 rows: 28672 columns of i8 take 37 us so and 42 by 16 columns, 16 warps and 2 loads; of 4
// bits 36 and 57. 4096 columns of i8 take 8.4 us by those, of 4 bits 9.2 by 32 columns and 10.3 by 16, of one row 6.6
// by 16 (docs/measured/cuda_8bit.md).
bool HasMany(const Kernel& kernel, const StoredWeights& weights) {
  return weights.columns >= 64 * kernel.device->multiprocessors && EightsOf(weights) <= 2;
}

}  // namespace

std::int64_t RowsOf(const StoredWeights& weights) { return weights.m ? weights.m->extent : 1; }
std::int64_t EightsOf(const StoredWeights& weights) { return (RowsOf(weights) + 7) / 8; }
std::int64_t OwnDepth(const StoredWeights& weights) { return weights.across ? 8 : weights.bits == 8 ? 16 : 32; }
bool HasColumnsInWords(const StoredWeights& weights) { return weights.of_words && weights.bytes.of_rows == 8; }
bool HasDepthInWords(const StoredWeights& weights) { return weights.of_words && weights.bytes.of_rows == 1; }

std::vector<Setting> StoredColumnsValues(const Kernel& kernel) {
  const StoredWeights weights = Of(kernel);
  if (weights.across) {
    if (HasMany(kernel, weights)) return {Whole(64), Whole(128), Whole(32)};
    return HasDepthInWords(weights) ? std::vector{Whole(32), Whole(16), Whole(64)} : std::vector{Whole(32), Whole(64)};
  }
  const bool many = HasMany(kernel, weights), four = weights.bits == 4 && EightsOf(weights) == 2 && weights.k >= 2048;
  if (!many) return four ? std::vector{Whole(32), Whole(16)} : std::vector{Whole(16), Whole(32)};
  return weights.bits == 8 ? std::vector{Whole(64), Whole(32), Whole(16)}
                           : std::vector{Whole(32), Whole(64), Whole(16)};
}
std::optional<std::string> CheckStoredColumns(const Kernel& kernel, const Setting& value) {
  const StoredWeights weights = Of(kernel);
  if (auto why = CheckRange(value, 16, weights.across && EightsOf(weights) <= 2 ? 128 : 64)) return why;
  const std::int64_t columns = std::get<std::int64_t>(value.value);
  if (weights.across && !(columns == 16 && HasDepthInWords(weights)) && columns != 32 && columns != 64 &&
      columns != 128)
    return "a thread reads 4, 8 or 16 neighbouring columns; try 32";
  if (columns % kColumnsOfMma != 0) return "columns are made sixteen at a time; try 16";
  if (SumsBytes(weights, columns, 1) > RoomForSums(weights)) return "so many sums do not fit; try 16";
  return std::nullopt;
}
std::vector<Setting> StoredWarpsValues(const Kernel& kernel) {
  const StoredWeights weights = Of(kernel);
  const std::int64_t columns = IntSetting(kernel, "columns");
  std::vector<Setting> values;
  const std::int64_t most = !HasMany(kernel, weights) ? 16 : weights.bits == 8 ? 8 : 4;
  for (const std::int64_t warps :
       {most, std::int64_t{8}, std::int64_t{16}, std::int64_t{4}, std::int64_t{2}, std::int64_t{1}}) {
    if (std::find(values.begin(), values.end(), Whole(warps)) != values.end()) continue;
    if (SumsBytes(weights, columns, warps) <= RoomForSums(weights) &&
        (warps == 1 || warps * OwnDepth(weights) * 4 <= weights.k))
      values.push_back(Whole(warps));
  }
  return values;
}
std::optional<std::string> CheckStoredWarps(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 32)) return why;
  const StoredWeights weights = Of(kernel);
  const std::int64_t most = RoomForSums(weights) / SumsBytes(weights, IntSetting(kernel, "columns"), 1);
  if (std::get<std::int64_t>(value.value) > most)
    return fmt::format("what so many warps make does not fit; {} are possible", most);
  return std::nullopt;
}
std::vector<Setting> StoredLoadsValues(const Kernel& kernel) {
  // A thread's eight of K are at most as many bytes as it loads along K. Many columns of whole numbers take 46 us by
  // one load and 55 by two, of real ones 55 and 50; few 12.1 and 13.5, 14.3 and 14.6.
  if (const StoredWeights weights = Of(kernel); weights.across) {
    const std::int64_t columns = IntSetting(kernel, "columns");
    // Many columns of words take 42 us by four loads, 46 by two and 49 by one where those are eight of K each; 56, 44
    // and 47 where they are eight columns. Few 9.6, 10.3 and 11.8; 10.6, 14.9 and 12.5.
    if (HasDepthInWords(weights)) return {Whole(4), Whole(2), Whole(8), Whole(1)};
    if (HasColumnsInWords(weights))
      return columns == 32 ? std::vector{Whole(4), Whole(1), Whole(2)} : std::vector{Whole(2), Whole(1), Whole(4)};
    if (columns == 64 && weights.is_real) return {Whole(2), Whole(1), Whole(4)};
    return columns == 128 ? std::vector{Whole(1), Whole(2)} : std::vector{Whole(1), Whole(2), Whole(4)};
  }
  const bool wide = IntSetting(kernel, "columns") * IntSetting(kernel, "warps") > 256;
  return wide ? std::vector{Whole(1), Whole(2)} : std::vector{Whole(2), Whole(4), Whole(1)};
}
std::optional<std::string> CheckStoredLoads(const Kernel&, const Setting& value) { return CheckRange(value, 1, 8); }

}  // namespace hone::dsl
