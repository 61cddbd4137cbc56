// Calls of verbs that take longer than a client waits for an answer: begun, asked about, cancelled, reported. They end
// with this process; what `optimize` had found is in the run store then, and the same call goes on with it.
#pragma once

#include <list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "command/agent/verb_process.h"
#include "command/command.h"

namespace hone {

inline constexpr std::size_t kMostRunning = 4;  // more would time each other's noise

// Thread-safe.
class Background {
 public:
  explicit Background(VerbSetting setting);
  ~Background();  // cancels all, and waits for their ends
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // "optimize-1". kUsage when the arguments are none of the verb's.
  Result<std::string> Start(const Verb& verb, const nlohmann::json& arguments);

  // id, verb, arguments, state (running, done, failed, cancelled), seconds, run (its id in the run store, null while
  // there is none), progress (the last line), lines[] (the last ones). Of a running one it waits up to `wait_s` for its
  // end, unless `cancelled` says otherwise. kNotFound: there is none such.
  Result<nlohmann::json> Status(std::string_view id, double wait_s, const std::function<bool()>& cancelled);

  Result<void> Cancel(std::string_view id);  // asks; Status tells when it has ended

  // What it came to. kUsage while it runs.
  struct Report {
    const Verb* verb = nullptr;
    VerbEnd end;
  };
  Result<Report> ReportOf(std::string_view id);

 private:
  struct One;
  Result<std::shared_ptr<One>> Find(std::string_view id);

  const VerbSetting setting_;
  Mutex mutex_;
  std::vector<std::shared_ptr<One>> all_ HONE_GUARDED_BY(mutex_);
};

}  // namespace hone
