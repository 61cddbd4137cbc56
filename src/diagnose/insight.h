// What a run keeps of a diagnosis with each attempt: what limits the candidate, and what costs it time. Facts of the
// compiled code and of the problem, beside the time that was measured; where no device is asked to count, the same
// candidate with the same time gives the same insight. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "diagnose/advisers.h"
#include "diagnose/diagnose.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "profile/candidate_profiles.h"
#include "target/device_model.h"

namespace hone {

// What a device counted and timed of one launch of a kernel.
struct CountedFacts {
  std::string subject, where;           // of its profile
  std::map<std::string, double> facts;  // by their names (profile/facts.h)
};

struct Insight {
  Classification limits;              // of the whole candidate; without opinions where there was nothing to classify
  std::vector<Finding> findings;      // best first, kMostFindings at most
  std::vector<CountedFacts> counted;  // of each launch of a run; none where nobody counted
  std::string missing;                // why nothing could be found, in a line; empty: it could
};

// What all diagnoses of a run have in common; outlives the calls.
struct InsightSetting {
  const Problem& problem;
  const Graph* graph = nullptr;  // null where the problem has none that we can define
  const DeviceModel& device;
  std::string program;  // that compiles foreign source in a process of its own (CubinRequest)
  Advisers advisers;    // where the expert does not act on them: the rules all the same, for people
};

// Runs the candidate on a device and adds what it counts to the profiles. Returns why it did not, in a line; empty: it
// did.
using CountHook = std::function<std::string(CandidateProfiles&)>;

// Of a candidate that was accepted and takes `time_us` > 0. It was compiled before, so its build is found in the cache.
// Never fails: an attempt is worth as much without an insight, and `missing` says why there is none.
// Where `count` is given it is called once.
Insight LookAt(const Candidate& candidate, double time_us, const InsightSetting& setting, const CountHook& count = {});

// Adds to the profiles of a candidate that was looked at before what was kept of that: its time > 0, and what a device
// counted. Facts that no table has any more are left out.
void AddKept(std::vector<Profile>& profiles, double time_us, const std::vector<CountedFacts>& counted);

// {"by_analysis": {"class", "confidence", "why"}, "by_counters": ..., "counted": [...], "missing"}: all but the
// findings.
nlohmann::json ClassJson(const Insight& insight);
// kCorrupt: what it lacks or has too much of. An empty object: nobody looked.
Result<Insight> ParseClassJson(const nlohmann::json& json);

}  // namespace hone
