#include "verdict/verdict.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>

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

// The fields of each struct, once for both directions: Fields(from, Writer(json)) writes them, Fields(to, Reader(json))
// reads those that are there. `Of` is the struct, const when it is written.
// What is not known is written as null, not left out.
struct Null {};
constexpr Null kNull;

template <class Of, class As>
concept Is = std::same_as<std::remove_const_t<Of>, As>;

template <Is<Samples> Of>
void Fields(Of& samples, auto field) {
  field("median_us", samples.median_us);
  field("low_us", "high_us", samples.interval);
  field("p10_us", samples.p10_us);
  field("p90_us", samples.p90_us);
  field("count", samples.count);
}

template <Is<Comparison> Of>
void Fields(Of& comparison, auto field) {
  field("baseline", comparison.baseline);
  field("baseline_warm", comparison.baseline_warm);
  field("baseline_cold", comparison.baseline_cold);
  field("baseline_hidden", comparison.baseline_hidden);
  field("baseline_dispatched", comparison.baseline_dispatched);
  field("speedup", comparison.speedup, kNull);
  field("speedup_low", "speedup_high", comparison.interval);
  field("rounds", comparison.rounds);
  field("disturbed", comparison.disturbed);
  field("measured_on", comparison.measured_on);
}

template <Is<KnownBaseline> Of>
void Fields(Of& known, auto field) {
  field("warm", known.warm);
  field("cold", known.cold);
  field("dispatched", known.dispatched);
  field("measured_on", known.measured_on);
}

template <Is<Clocks> Of>
void Fields(Of& clocks, auto field) {
  field("sm_mhz_low", clocks.sm_mhz_low);
  field("sm_mhz_high", clocks.sm_mhz_high);
  field("limits", clocks.limits);
  field("discarded_rounds", clocks.discarded_rounds);
}

template <Is<Timing> Of>
void Fields(Of& timing, auto field) {
  field("warm", timing.warm);
  field("cold", timing.cold);
  field("joules", timing.joules);
  field("prepare_us", timing.prepare_us);
  field("threads", timing.threads);
  field("ended_early", timing.ended_early);
  field("launched", timing.launched);
  field("clocks", timing.clocks);
  field("disturbed", timing.disturbed);
  field("against", timing.against);
}

template <Is<Evidence> Of>
void Fields(Of& evidence, auto field) {
  field("draw", evidence.draw);
  field("output", evidence.output);
  field("index", evidence.index);
  field("expected", evidence.expected);
  field("got", evidence.got);
  field("budget", evidence.budget);
  field("wrong_elements", evidence.wrong_elements);
  field("elements", evidence.elements);
  field("signal", evidence.signal);
  field("exit_code", evidence.exit_code);
  field("line", evidence.line);
  field("column", evidence.column);
  field("detail", evidence.detail);
  field("log", evidence.log);
}

template <Is<StageTimes> Of>
void Fields(Of& stages, auto field) {
  field("compile_ms", stages.compile_ms);
  field("check_ms", stages.check_ms);
  field("timing_ms", stages.timing_ms);
  field("total_ms", stages.total_ms);
  field("compile_cached", stages.compile_cached);
}

// What is known of an accepted candidate; under "accuracy".
template <Is<Verdict> Of>
void Fields(Of& verdict, auto field) {
  field("error_over_budget", verdict.error_over_budget);
  field("error_over_honest", verdict.error_over_honest);
  field("bit_reproducible", verdict.bit_reproducible);
  field("range", verdict.range);
  field("official_allclose", verdict.official_allclose);
}

template <class T>
concept HasFields = requires(T& of, void (*field)()) { Fields(of, field); };

// What is not set is not written: no value, no text, no index.
class Writer {
 public:
  explicit Writer(json& to) : to_(to) {}

  void operator()(const char* key, double value) { to_[key] = Number(value); }
  void operator()(const char* key, const std::string& value) {
    if (!value.empty()) to_[key] = value;
  }
  void operator()(const char* key, const std::vector<std::int64_t>& value) {
    if (!value.empty()) to_[key] = value;
  }
  void operator()(const char* key, const std::vector<Comparison>& value) {
    to_[key] = json::array();
    for (const Comparison& one : value) Fields(one, Writer(to_[key].emplace_back()));
  }
  void operator()(const char* low, const char* high, const std::optional<Interval>& value) {
    to_[low] = value ? Number(value->low) : json();
    to_[high] = value ? Number(value->high) : json();
  }
  void operator()(const char* key, const std::optional<double>& value, Null) {
    to_[key] = value ? Number(*value) : json();
  }
  template <class T>
  void operator()(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  template <class T>
  void operator()(const char* key, const T& value) {
    if constexpr (HasFields<const T>) {
      to_[key] = json::object();
      Fields(value, Writer(to_[key]));
    } else {
      to_[key] = value;
    }
  }

 private:
  json& to_;
};

// What is not there keeps its value.
class Reader {
 public:
  explicit Reader(const json& from) : from_(from) {}

  void operator()(const char* key, double& value) {
    if (from_.contains(key)) value = ReadNumber(from_[key]);
  }
  void operator()(const char* key, std::vector<Comparison>& value) {
    if (!from_.contains(key)) return;
    for (const json& one : from_[key]) Fields(value.emplace_back(), Reader(one));
  }
  void operator()(const char* low, const char* high, std::optional<Interval>& value) {
    if (!Has(low) || !Has(high)) return;
    value = Interval{ReadNumber(from_[low]), ReadNumber(from_[high])};
  }
  void operator()(const char* key, std::optional<double>& value, Null) { (*this)(key, value); }
  template <class T>
  void operator()(const char* key, std::optional<T>& value) {
    if (Has(key)) (*this)(key, value.emplace());
  }
  template <class T>
  void operator()(const char* key, T& value) {
    if (!from_.contains(key)) return;
    if constexpr (HasFields<T>) {
      Fields(value, Reader(from_[key]));
    } else {
      value = from_[key].get<T>();
    }
  }

 private:
  bool Has(const char* key) const { return from_.contains(key) && !from_[key].is_null(); }
  const json& from_;
};

}  // namespace

std::string_view Name(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<Outcome> ParseOutcome(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kOutcomes); ++i) {
    if (kOutcomes[i] == name) return static_cast<Outcome>(i);
  }
  return std::nullopt;
}

bool Comparison::Faster() const {
  constexpr double kBeyondChance = 1.5;  // two medians of undisturbed rounds, each 1.2 off, the two ways
  return interval ? interval->low > 1 : speedup && *speedup >= kBeyondChance;
}

const Comparison* Timing::OverBest() const {
  const Comparison* best = nullptr;
  for (const Comparison& one : against) {
    // Of those that were disturbed one may be the fastest.
    if (!one.speedup) return nullptr;
    if (!best || *one.speedup < *best->speedup) best = &one;
  }
  return best;
}

json ToJson(const KnownBaseline& known) {
  json out = json::object();
  Fields(known, Writer(out));
  return out;
}

Result<KnownBaseline> ParseKnownBaseline(const json& from) try {
  KnownBaseline known;
  Fields(known, Reader(from));
  return known;
} catch (const json::exception& error) {
  return Fail(ErrorKind::kCorrupt, std::string("not a baseline's times: ") + error.what());
}

json ToJson(const Evaluation& evaluation) {
  const Verdict& verdict = evaluation.verdict;
  json out{{"outcome", Name(verdict.outcome)}, {"reason", verdict.reason}};
  Writer write(out);
  write("evidence", verdict.evidence);
  write("stages", evaluation.stages);
  out["sandbox"] = evaluation.sandbox;
  write("dice", evaluation.dice);
  if (verdict.accepted()) write("accuracy", verdict);
  write("timing", evaluation.timing);
  if (!evaluation.certificate.empty()) out["certificate"] = evaluation.certificate;
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
    Reader read(from);
    read("reason", verdict.reason);
    read("evidence", verdict.evidence);
    read("accuracy", verdict);
    read("timing", evaluation.timing);
    read("stages", evaluation.stages);
    read("sandbox", evaluation.sandbox);
    read("dice", evaluation.dice);
    read("certificate", evaluation.certificate);
    read("notes", evaluation.notes);
    return evaluation;
  } catch (const json::exception& error) {
    return Fail(ErrorKind::kCorrupt, std::string("not an evaluation: ") + error.what());
  }
}

}  // namespace hone
