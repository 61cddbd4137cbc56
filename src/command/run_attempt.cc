#include "command/run_attempt.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {

Result<AttemptRecord> FindAttempt(Store& store, const RunRecord& run, std::int64_t number) {
  const auto attempts = HONE_TRY(store.Attempts(run.id));
  const auto found = std::find_if(attempts.begin(), attempts.end(),
                                  [&](const AttemptRecord& attempt) { return attempt.number == number; });
  if (found != attempts.end()) return *found;
  return Fail(ErrorKind::kUsage,
              fmt::format("run {} has no attempt {}; it has 1 to {}", run.id, number, attempts.size()));
}

}  // namespace hone
