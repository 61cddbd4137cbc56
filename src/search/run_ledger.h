// The ledger of a run, with its lines in the run store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ledger.h"
#include "store/store.h"

namespace hone {

// With what earlier sessions spent. Lines are written by whichever thread makes the calls, through a connection of its
// own.
Result<std::unique_ptr<Ledger>> OpenLedger(Store& store, const std::string& run, Caps caps);

// Those of a run, without their replies.
Result<std::vector<LedgerLine>> LedgerLines(Store& store, const std::string& run);

}  // namespace hone
