// What is kept of a suite beside its ledger, so that others can look on while it grows: which problems it has, and why
// it ended. All else is in the ledger.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "command/seen_files.h"
#include "search/suite.h"
#include "store/run_lock.h"

namespace hone {

struct KeptSuite {
  std::string suite;  // the path that was typed
  std::vector<SuiteProblem> problems;
  std::string ledger;                       // its file
  std::map<std::string, std::string> made;  // HowMade
  std::string stop;                         // why its last session ended; empty: it has not, or was killed
};

// Of a session of it, for as long as it lives: whoever looks on sees by the lock that it is at work.
struct SuiteAtWork {
  std::string file;
  std::optional<RunLock> lock;
};
Result<SuiteAtWork> KeepSuite(const std::string& store, const KeptSuite& suite);
Result<void> KeepEnd(const SuiteAtWork& at_work, KeptSuite suite, const std::string& stop);

// Of the store. Their states are running, ended and killed.
SeenFolder SuitesOf(const std::string& store);

// What `hone optimize --suite ... --json` says of what a suite has done, but for what only a session itself knows
// (store, ledger, device, signature).
nlohmann::json SuiteSoFar(const KeptSuite& suite, const std::vector<Standing>& standings,
                          const std::vector<Helping>& helpings, const std::string& stop);
Result<nlohmann::json> SuiteSoFar(const SeenFile& seen);

}  // namespace hone
