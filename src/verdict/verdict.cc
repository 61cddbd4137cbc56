#include "verdict/verdict.h"

#include <utility>

#include "verdict/refusal.h"
#include "verdict/verdict_fields.h"

namespace hone {
namespace {

// In the order of the enumeration.
constexpr std::string_view kOutcomes[] = {
    "accepted",       "invalid",          "compile_error", "launch_error", "crash",
    "timeout",        "out_of_memory",    "wrong_result",  "nonfinite",    "out_of_bounds",
    "input_modified", "nondeterministic", "suspicious",
};

}  // namespace

std::string_view Name(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> ParseOutcome(std::string_view name) { return ParseName<Outcome>(kOutcomes, name); }

Verdict Refuse(Outcome outcome, std::string reason, std::string draw) {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  verdict.evidence->draw = std::move(draw);
  return verdict;
}

bool Comparison::Faster() const {
  constexpr double kBeyondChance = 1.5;  // two medians of undisturbed rounds, each 1.2 off, the two ways
  return interval ? interval->low > 1 : speedup && *speedup >= kBeyondChance;
}

std::string Comparison::WhyNoRatio() const { return wrong.empty() ? "disturbed: " + disturbed : "wrong: " + wrong; }

const Comparison* Timing::OverBest() const {
  const Comparison* best = nullptr;
  for (const Comparison& one : against) {
    if (!one.wrong.empty()) continue;
    // Of those that were disturbed one may be the fastest.
    if (!one.speedup) return nullptr;
    if (!best || *one.speedup < *best->speedup) best = &one;
  }
  return best;
}

nlohmann::json ToJson(const KnownBaseline& known) { return ToRecord(known); }
nlohmann::json ToJson(const Energy& energy) { return ToRecord(energy); }

Result<KnownBaseline> ParseKnownBaseline(const nlohmann::json& json) {
  return FromRecord<KnownBaseline>(json, "a baseline's times");
}

nlohmann::json ToJson(const Evaluation& evaluation) { return ToRecord(evaluation); }

Result<Evaluation> ParseEvaluation(const nlohmann::json& json) { return FromRecord<Evaluation>(json, "an evaluation"); }

}  // namespace hone
