// Counters of the attempts that lead a run: what its devices count while nothing is timed there.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "candidate/candidate.h"
#include "command/workbench.h"
#include "evaluate/device_profile.h"
#include "profile/candidate_profiles.h"

namespace hone {

// One process a device is kept, which is started when it is first asked. Not thread-safe. The bench outlives it.
class RunCounters {
 public:
  // `set`: nothing is counted where there is none. `note` is told once why counting is over for this run.
  RunCounters(const Workbench& bench, std::optional<CounterSet> set, std::function<void(const std::string&)> note);

  bool counting() const { return set_.has_value(); }
  // Runs the candidate on the device of this lane, where nothing else runs meanwhile, and adds what was counted. Why
  // not, in a line; empty: it was.
  std::string Count(const Candidate& candidate, int lane, CandidateProfiles& made);
  // Nothing of ours is on the devices any more, until it is asked again.
  void Leave() { profilers_.clear(); }

 private:
  const Workbench& bench_;
  std::optional<CounterSet> set_;
  std::function<void(const std::string&)> note_;
  std::map<int, std::unique_ptr<DeviceProfiler>> profilers_;  // by lane
};

}  // namespace hone
