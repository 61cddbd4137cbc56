// What a run keeps of a diagnosis with each attempt: what limits the candidate, and what costs it time. Facts of the
// compiled code and of the problem, beside the time that was measured; no device is asked, so the same candidate with
// the same time gives the same insight. Safe from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "diagnose/advisers.h"
#include "diagnose/diagnose.h"
#include "graph/graph.h"
#include "problem/problem.h"
#include "target/device_model.h"

namespace hone {

struct Insight {
  Classification limits;          // of the whole candidate; without opinions where there was nothing to classify
  std::vector<Finding> findings;  // best first, kMostFindings at most
  std::string missing;            // why nothing could be found, in a line; empty: it could
};

// What all diagnoses of a run have in common; outlives the calls.
struct InsightSetting {
  const Problem& problem;
  const Graph* graph = nullptr;  // null where the problem has none that we can define
  const DeviceModel& device;
  std::string program;  // that compiles foreign source in a process of its own (CubinRequest)
  Advisers advisers;    // where the expert does not act on them: the rules all the same, for people
};

// Of a candidate that was accepted and takes `time_us` > 0. It was compiled before, so its build is found in the cache.
// Never fails: an attempt is worth as much without an insight, and `missing` says why there is none.
Insight LookAt(const Candidate& candidate, double time_us, const InsightSetting& setting);

// {"by_analysis": {"class", "confidence", "why"}, "by_counters": ..., "missing"}: all but the findings.
nlohmann::json ClassJson(const Insight& insight);
// kCorrupt: what it lacks or has too much of. An empty object: nobody looked.
Result<Insight> ParseClassJson(const nlohmann::json& json);

}  // namespace hone
