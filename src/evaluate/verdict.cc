#include "evaluate/verdict.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

using nlohmann::json;

// In the order of the enumeration.
constexpr std::string_view kOutcomes[] = {
    "accepted",       "invalid",          "compile_error", "launch_error", "crash",
    "timeout",        "out_of_memory",    "wrong_result",  "nonfinite",    "out_of_bounds",
    "input_modified", "nondeterministic", "suspicious",
};

// JSON has no NaN and no infinity: as words, so that "got NaN" survives.
json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double ReadNumber(const json& value) {
  if (value.is_number()) return value.get<double>();
  const auto& word = value.get_ref<const std::string&>();
  if (word == "nan") return std::nan("");
  return word == "-inf" ? -HUGE_VAL : HUGE_VAL;
}

void Put(json& to, const char* key, const std::optional<double>& value) {
  if (value) to[key] = Number(*value);
}
template <class T>
void Put(json& to, const char* key, const std::optional<T>& value) {
  if (value) to[key] = *value;
}
void Put(json& to, const char* key, const std::string& value) {
  if (!value.empty()) to[key] = value;
}

void Get(const json& from, const char* key, std::optional<double>& value) {
  if (from.contains(key)) value = ReadNumber(from[key]);
}
template <class T>
void Get(const json& from, const char* key, std::optional<T>& value) {
  if (from.contains(key)) value = from[key].get<T>();
}
template <class T>
void Get(const json& from, const char* key, T& value) {
  if (from.contains(key)) value = from[key].get<T>();
}
void Get(const json& from, const char* key, double& value) {
  if (from.contains(key)) value = ReadNumber(from[key]);
}

json ToJson(const Samples& samples) {
  return {{"median_us", samples.median_us}, {"low_us", samples.low_us}, {"high_us", samples.high_us},
          {"p10_us", samples.p10_us},       {"p90_us", samples.p90_us}, {"count", samples.count}};
}

Samples ReadSamples(const json& from) {
  Samples samples;
  Get(from, "median_us", samples.median_us);
  Get(from, "low_us", samples.low_us);
  Get(from, "high_us", samples.high_us);
  Get(from, "p10_us", samples.p10_us);
  Get(from, "p90_us", samples.p90_us);
  Get(from, "count", samples.count);
  return samples;
}

json ToJson(const Evidence& evidence) {
  json out = json::object();
  Put(out, "draw", evidence.draw);
  Put(out, "output", evidence.output);
  if (!evidence.index.empty()) out["index"] = evidence.index;
  Put(out, "expected", evidence.expected);
  Put(out, "got", evidence.got);
  Put(out, "budget", evidence.budget);
  Put(out, "wrong_elements", evidence.wrong_elements);
  Put(out, "elements", evidence.elements);
  Put(out, "signal", evidence.signal);
  Put(out, "exit_code", evidence.exit_code);
  Put(out, "line", evidence.line);
  Put(out, "column", evidence.column);
  Put(out, "detail", evidence.detail);
  Put(out, "log", evidence.log);
  return out;
}

Evidence ReadEvidence(const json& from) {
  Evidence evidence;
  Get(from, "draw", evidence.draw);
  Get(from, "output", evidence.output);
  Get(from, "index", evidence.index);
  Get(from, "expected", evidence.expected);
  Get(from, "got", evidence.got);
  Get(from, "budget", evidence.budget);
  Get(from, "wrong_elements", evidence.wrong_elements);
  Get(from, "elements", evidence.elements);
  Get(from, "signal", evidence.signal);
  Get(from, "exit_code", evidence.exit_code);
  Get(from, "line", evidence.line);
  Get(from, "column", evidence.column);
  Get(from, "detail", evidence.detail);
  Get(from, "log", evidence.log);
  return evidence;
}

json ToJson(const Timing& timing) {
  json against = json::array();
  for (const Comparison& one : timing.against) {
    against.push_back({{"baseline", one.baseline},
                       {"baseline_warm", ToJson(one.baseline_warm)},
                       {"speedup", one.speedup},
                       {"speedup_low", one.speedup_low},
                       {"speedup_high", one.speedup_high},
                       {"rounds", one.rounds}});
  }
  return {{"warm", ToJson(timing.warm)},
          {"cold", ToJson(timing.cold)},
          {"prepare_us", timing.prepare_us},
          {"threads", timing.threads},
          {"against", std::move(against)}};
}

Timing ReadTiming(const json& from) {
  Timing timing;
  if (from.contains("warm")) timing.warm = ReadSamples(from["warm"]);
  if (from.contains("cold")) timing.cold = ReadSamples(from["cold"]);
  Get(from, "prepare_us", timing.prepare_us);
  Get(from, "threads", timing.threads);
  for (const json& one : from.value("against", json::array())) {
    Comparison comparison;
    Get(one, "baseline", comparison.baseline);
    if (one.contains("baseline_warm")) comparison.baseline_warm = ReadSamples(one["baseline_warm"]);
    Get(one, "speedup", comparison.speedup);
    Get(one, "speedup_low", comparison.speedup_low);
    Get(one, "speedup_high", comparison.speedup_high);
    Get(one, "rounds", comparison.rounds);
    timing.against.push_back(std::move(comparison));
  }
  return timing;
}

}  // namespace

std::string_view Name(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> ParseOutcome(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kOutcomes); ++i) {
    if (kOutcomes[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

json ToJson(const Evaluation& evaluation) {
  const Verdict& verdict = evaluation.verdict;
  json out{{"outcome", Name(verdict.outcome)},
           {"reason", verdict.reason},
           {"evidence", ToJson(verdict.evidence)},
           {"stages",
            {{"compile_ms", evaluation.stages.compile_ms},
             {"check_ms", evaluation.stages.check_ms},
             {"timing_ms", evaluation.stages.timing_ms},
             {"total_ms", evaluation.stages.total_ms},
             {"compile_cached", evaluation.stages.compile_cached}}},
           {"sandbox", evaluation.sandbox}};
  if (verdict.accepted()) {
    json accuracy{{"error_over_budget", Number(verdict.error_over_budget)},
                  {"error_over_honest", Number(verdict.error_over_honest)},
                  {"bit_reproducible", verdict.bit_reproducible}};
    Put(accuracy, "range", verdict.range);
    Put(accuracy, "official_allclose", verdict.official_allclose);
    out["accuracy"] = std::move(accuracy);
  }
  if (evaluation.timing) out["timing"] = ToJson(*evaluation.timing);
  if (!evaluation.notes.empty()) out["notes"] = evaluation.notes;
  return out;
}

Result<Evaluation> ParseEvaluation(const json& from) {
  try {
    Evaluation evaluation;
    Verdict& verdict = evaluation.verdict;
    const auto outcome = ParseOutcome(from.at("outcome").get_ref<const std::string&>());
    if (!outcome) return Fail(ErrorKind::kCorrupt, "an evaluation has the unknown outcome " + from["outcome"].dump());
    verdict.outcome = *outcome;
    Get(from, "reason", verdict.reason);
    if (from.contains("evidence")) verdict.evidence = ReadEvidence(from["evidence"]);
    if (from.contains("accuracy")) {
      const json& accuracy = from["accuracy"];
      Get(accuracy, "error_over_budget", verdict.error_over_budget);
      Get(accuracy, "error_over_honest", verdict.error_over_honest);
      Get(accuracy, "bit_reproducible", verdict.bit_reproducible);
      Get(accuracy, "range", verdict.range);
      Get(accuracy, "official_allclose", verdict.official_allclose);
    }
    if (from.contains("timing")) evaluation.timing = ReadTiming(from["timing"]);
    if (from.contains("stages")) {
      const json& stages = from["stages"];
      Get(stages, "compile_ms", evaluation.stages.compile_ms);
      Get(stages, "check_ms", evaluation.stages.check_ms);
      Get(stages, "timing_ms", evaluation.stages.timing_ms);
      Get(stages, "total_ms", evaluation.stages.total_ms);
      Get(stages, "compile_cached", evaluation.stages.compile_cached);
    }
    Get(from, "sandbox", evaluation.sandbox);
    Get(from, "notes", evaluation.notes);
    return evaluation;
  } catch (const json::exception& error) {
    return Fail(ErrorKind::kCorrupt, std::string("not an evaluation: ") + error.what());
  }
}

}  // namespace hone
