// A kernel of one's own that a run starts from: `--start` read, and in words what came of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "propose/proposer.h"

namespace hone {

struct SearchOutcome;

// What `--start PATH` names, for --target cuda or cpu. kUsage, with the mend, for what cannot be a candidate there.
Result<Proposal> LoadStart(const std::string& path, bool cuda);

// What the judge says of it and why it takes as long, a line; or why it is refused, and that the run goes on.
std::string StartNote(const Attempt& start);

// "  start    ...\n"; empty where the run began from nobody's kernel.
std::string StartText(const SearchOutcome& outcome);
// outcome, reason, start_us, best_us, confirmed (both again), speedup, faster; null as above.
nlohmann::json StartDocument(const SearchOutcome& outcome);

}  // namespace hone
