// An attempt of a run by its number, for the commands that are about one.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "store/store.h"

namespace hone {

// Fails as the store does; kUsage where the run has none of that number, with the numbers that it has.
Result<AttemptRecord> FindAttempt(Store& store, const RunRecord& run, std::int64_t number);

}  // namespace hone
