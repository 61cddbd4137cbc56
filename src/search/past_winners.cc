#include "search/past_winners.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr int kRunsLookedAt = 500;  // the newest: reading a problem takes a tenth of a millisecond

// How often a problem has each operator.
std::map<std::string, int> Operators(const std::string& problem) {
  std::map<std::string, int> operators;
  const Json json = Json::parse(problem, nullptr, false);
  if (!json.is_object() || !json.contains("graph") || !json["graph"].is_array()) return operators;
  for (const Json& node : json["graph"]) {
    if (node.is_object() && node.contains("op") && node["op"].is_string()) ++operators[node["op"].get<std::string>()];
  }
  return operators;
}

// What they have in common, of all that they have.
double Likeness(const std::map<std::string, int>& a, const std::map<std::string, int>& b) {
  int common = 0, all = 0;
  for (const auto& [name, count] : a) {
    const auto other = b.find(name);
    common += other == b.end() ? 0 : std::min(count, other->second);
    all += other == b.end() ? count : std::max(count, other->second);
  }
  for (const auto& [name, count] : b) all += a.contains(name) ? 0 : count;
  return all == 0 ? 0 : static_cast<double>(common) / all;
}

}  // namespace

Result<std::vector<PastWinner>> PastWinners(Store& store, const RunRecord& run) {
  const auto own = Operators(HONE_TRY(store.Blob(run.problem_blob)));
  struct Likely {
    RunRecord run;
    double likeness;
  };
  std::vector<Likely> likely;
  int looked_at = 0;
  for (RunRecord& one : HONE_TRY(store.Runs())) {
    const bool before = one.id != run.id && one.target == run.target && one.machine == run.machine &&
                        one.best_attempt > 0 && one.state != RunState::kRunning && one.updated_ms <= run.created_ms;
    if (!before || ++looked_at > kRunsLookedAt) continue;
    const double likeness = Likeness(own, Operators(HONE_TRY(store.Blob(one.problem_blob))));
    if (likeness > 0) likely.push_back({std::move(one), likeness});
  }
  std::ranges::stable_sort(likely, std::ranges::greater(), &Likely::likeness);
  std::vector<PastWinner> winners;
  for (const Likely& one : likely) {
    if (winners.size() == kPastWinners) break;
    const RunSummary summary = HONE_TRY(store.Summarize(one.run));
    if (!summary.confirmed) continue;
    for (const AttemptRecord& attempt : HONE_TRY(store.Attempts(one.run.id))) {
      const auto kind = ParseCandidateKind(attempt.kind);
      if (attempt.number != one.run.best_attempt || !kind) continue;
      PastWinner winner{.run = one.run.id,
                        .problem = one.run.problem_name,
                        .candidate = {*kind, HONE_TRY(store.Blob(attempt.source_blob))},
                        .time_us = summary.best_us,
                        .speedup = summary.best_speedup,
                        .likeness = one.likeness};
      const bool known = std::ranges::any_of(
          winners, [&](const PastWinner& other) { return other.candidate.text == winner.candidate.text; });
      if (!known) winners.push_back(std::move(winner));
    }
  }
  return winners;
}

}  // namespace hone
