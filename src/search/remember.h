// What a run takes from earlier ones when it begins, and what it leaves to later ones: between the run store's rows and
// a proposer's values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "propose/recalled.h"
#include "search/loop.h"
#include "store/store.h"

namespace hone {

// What is known of these pieces on the run's target and machine: of each the program of which it was the largest share.
Result<Recalled> Recall(Store& store, const RunRecord& run, const std::vector<std::string>& keys);

// Keeps the winner's pieces (PiecesOfProgram), if it was confirmed. `version`: hone's.
Result<void> Remember(Store& store, const SearchOutcome& outcome, const std::map<std::string, ProvenPiece>& pieces,
                      const std::string& version);

}  // namespace hone
