// How the kernel for few rows times stored weights (dsl/cuda/ways/nest_weights.cc) shares out its work, and what can be
// set of that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/knobs.h"
#include "dsl/shape/stored_weights.h"
#include "dsl/way.h"

namespace hone::dsl {

inline constexpr std::int64_t kColumnsOfMma = 16;

std::int64_t RowsOf(const StoredWeights& weights);
std::int64_t EightsOf(const StoredWeights& weights);  // of rows
// Elements of K that a thread loads at once.
std::int64_t OwnDepth(const StoredWeights& weights);
// Whether each word is eight neighbouring columns of one of K; eight of K of one column.
bool HasColumnsInWords(const StoredWeights& weights);
bool HasDepthInWords(const StoredWeights& weights);

std::vector<Setting> StoredColumnsValues(const Kernel& kernel);
std::optional<std::string> CheckStoredColumns(const Kernel& kernel, const Setting& value);
std::vector<Setting> StoredWarpsValues(const Kernel& kernel);
std::optional<std::string> CheckStoredWarps(const Kernel& kernel, const Setting& value);
std::vector<Setting> StoredLoadsValues(const Kernel& kernel);
std::optional<std::string> CheckStoredLoads(const Kernel& kernel, const Setting& value);

inline constexpr Knob kStoredWeightsKnobs[] = {
    {"columns", "of the result, that a block makes", StoredColumnsValues, CheckStoredColumns},
    {"warps", "of a block, with parts of K each", StoredWarpsValues, CheckStoredWarps},
    {"loads", "of a column, that a thread has on their way at once", StoredLoadsValues, CheckStoredLoads},
};

}  // namespace hone::dsl
