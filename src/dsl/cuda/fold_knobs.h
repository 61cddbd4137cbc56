// Knobs of all families that fold on CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/cuda/knobs.h"
#include "dsl/family.h"

namespace hone::dsl {

std::vector<Setting> FoldLanesValues(const Kernel& kernel);
std::optional<std::string> CheckFoldLanes(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldKeepValues(const Kernel& kernel);
std::optional<std::string> CheckFoldKeep(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldPackValues(const Kernel& kernel);
std::vector<Setting> FoldAheadValues(const Kernel& kernel);
std::optional<std::string> CheckFoldAhead(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldClusterValues(const Kernel& kernel);
std::optional<std::string> CheckFoldCluster(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldTeamValues(const Kernel& kernel);
std::optional<std::string> CheckFoldTeam(const Kernel& kernel, const Setting& value);
std::vector<Setting> FoldChunksValues(const Kernel& kernel);
std::optional<std::string> CheckFoldChunks(const Kernel& kernel, const Setting& value);
// In this order: a default may depend on those before it.
inline constexpr Knob kFoldKnobs[] = {
    {"lanes", "threads that share a row (1 to 1024), or warps that share columns (1 to 32)", FoldLanesValues,
     CheckFoldLanes},
    {"keep", "yes: a row is read once and stays in registers", FoldKeepValues, CheckFoldKeep},
    {kPackKnob.name, kPackKnob.doc, FoldPackValues, kPackKnob.check},
    {"ahead", "rows that a block takes in turn, each one's elements on their way while it works on the one before",
     FoldAheadValues, CheckFoldAhead},
    {"cluster", "blocks that share a row and tell each other what they folded", FoldClusterValues, CheckFoldCluster},
    {"team", "blocks that share a row, wherever they are, and meet in memory; registers and shared memory keep it",
     FoldTeamValues, CheckFoldTeam},
    {"split", "chunks of a row that have blocks of their own; 1 = whole", FoldChunksValues, CheckFoldChunks},
};

// Whether it is a reduction of rows to sums of exp(x - the largest x) and the like: maxima and sums are of one pass
// then, where rows are not kept (fold_along.cc).
bool GoesAlong(const Kernel& kernel);

inline constexpr std::int64_t kRowThreads = 128;  // of a block, where a row has fewer
// Floats of a row that a thread of a block of so many can keep in registers: what is left serves the rest.
std::int64_t MostKept(const Kernel& kernel, std::int64_t threads);

}  // namespace hone::dsl
