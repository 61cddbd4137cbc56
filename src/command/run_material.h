// A run as reports want it: its rows with what they refer to.
#pragma once

#include "base/result.h"
#include "report/page.h"
#include "store/store.h"

namespace hone {

// All that the store has of the run. Fails as the store does; kCorrupt for rows that say what nobody wrote.
Result<RunMaterial> ReadRunMaterial(Store& store, const RunRecord& run);

// "running", "done", "interrupted", or "killed" where it says that it runs and nobody works on it.
Result<std::string> StateOf(Store& store, const RunRecord& run);

// What says so at the end of a page: "hone 0.1.0, 2026-11-23", the day being today.
std::string MadeBy();

}  // namespace hone
