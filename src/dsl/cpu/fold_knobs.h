// Knobs of all families that fold (cpu/folds.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/family.h"

namespace hone::dsl {

// Bytes of a row: a longer one would push itself out of the first-level cache, were the next one fetched there.
inline constexpr std::int64_t kNearRow = 16 << 10;

std::vector<Setting> AccumulatorsValues(const Kernel& kernel);
std::optional<std::string> CheckAccumulators(const Kernel& kernel, const Setting& value);
std::vector<Setting> ColumnsValues(const Kernel& kernel);
std::optional<std::string> CheckColumns(const Kernel& kernel, const Setting& value);
std::vector<Setting> SplitValues(const Kernel& kernel);
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldPrefetchValues(const Kernel& kernel);
std::optional<std::string> CheckFoldPrefetch(const Kernel& kernel, const Setting& value);
inline constexpr Knob kAccumulatorsKnob{"accumulators",
                                        "independent sums a row (or rows added at a time): hides the adder's latency",
                                        &AccumulatorsValues, &CheckAccumulators};
inline constexpr Knob kColumnsKnob{"columns", "columns of a block, where the innermost dimension is not folded",
                                   &ColumnsValues, &CheckColumns};
inline constexpr Knob kSplitKnob{"split",
                                 "chunks into which the folded range is cut, for more threads than rows; 1 = whole",
                                 &SplitValues, &CheckSplit};
inline constexpr Knob kFoldPrefetchKnob{
    "prefetch", "what is asked for from memory meanwhile: row, the next row; ahead, what lies 2 KiB ahead; no, nothing",
    &FoldPrefetchValues, &CheckFoldPrefetch};

}  // namespace hone::dsl
