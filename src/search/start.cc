#include "search/start.h"

namespace hone {
namespace {

constexpr std::string_view kOrigin = "start: ";

// The latest word on it; null: it was not measured again, or that was refused.
const Timing* Again(const SearchOutcome& outcome, int attempt) {
  const Timing* latest = nullptr;
  for (const Confirmed& one : outcome.confirmed) {
    if (one.attempt != attempt) continue;
    latest = one.evaluation.verdict.accepted() && one.evaluation.timing ? &*one.evaluation.timing : nullptr;
  }
  return latest;
}

const Timing* InSearch(const SearchOutcome& outcome, int attempt) {
  const Attempt& tried = outcome.tree.node(attempt).attempt;
  return tried.time_us() > 0 ? &*tried.evaluation.timing : nullptr;
}

bool Apart(const Samples& faster, const Samples& slower, double ratio) {
  if (faster.interval && slower.interval) return faster.interval->high < slower.interval->low;
  return Comparison{.speedup = ratio}.Faster();
}

}  // namespace

Proposal StartProposal(Candidate candidate, const std::string& name) {
  return {.candidate = std::move(candidate), .origin = std::string(kOrigin) + name, .key = std::string(kStartKey)};
}

std::string StartName(std::string_view origin) {
  return std::string(origin.starts_with(kOrigin) ? origin.substr(kOrigin.size()) : origin);
}

std::optional<AgainstStart> CompareWithStart(const SearchOutcome& outcome) {
  if (!outcome.started || outcome.tree.attempts() == 0) return std::nullopt;
  AgainstStart against;
  const int best = outcome.run.best_attempt;
  const Timing* start = Again(outcome, 1);
  const Timing* winner = best > 0 ? Again(outcome, best) : nullptr;
  against.again = start != nullptr && winner != nullptr;
  if (!against.again) {
    start = InSearch(outcome, 1);
    winner = best > 0 ? InSearch(outcome, best) : nullptr;
  }
  if (start != nullptr) against.start_us = start->LikelyUs();
  if (winner != nullptr) against.best_us = winner->LikelyUs();
  if (against.start_us <= 0 || against.best_us <= 0) return against;
  against.speedup = against.start_us / against.best_us;
  against.faster = best != 1 && Apart(winner->warm, start->warm, *against.speedup);
  return against;
}

}  // namespace hone
