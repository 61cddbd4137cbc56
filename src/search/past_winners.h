// What won earlier runs of problems like the one at hand: between the run store's rows and a proposer's values.
#pragma once

#include <vector>

#include "base/result.h"
#include "propose/past_winner.h"
#include "store/store.h"

namespace hone {

inline constexpr std::size_t kPastWinners = 3;

// Of the runs on this run's target and machine that ended before it began, those whose problems have most operators in
// common with its own, the newest of equal ones first: their confirmed winners. Of one text the first alone. The same
// whenever the run goes on, unless earlier runs were deleted.
Result<std::vector<PastWinner>> PastWinners(Store& store, const RunRecord& run);

}  // namespace hone
