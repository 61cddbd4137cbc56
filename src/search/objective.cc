#include "search/objective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <limits>

#include "base/text.h"

namespace hone {
namespace {

constexpr std::array kMeasures = {Measure::kTime, Measure::kEnergy, Measure::kEnergyDelay};

}  // namespace

std::string_view Name(Measure measure) {
  switch (measure) {
    case Measure::kTime: return "time";
    case Measure::kEnergy: return "energy";
    case Measure::kEnergyDelay: return "edp";
  }
  return "time";
}

std::optional<double> Measured(Measure measure, const Evaluation& evaluation) {
  if (!evaluation.verdict.accepted() || !evaluation.timing) return std::nullopt;
  const double time_us = evaluation.timing->LikelyUs();
  if (time_us <= 0) return std::nullopt;
  const Box<Energy>& energy = evaluation.timing->energy;
  const std::optional<double> joules = energy ? std::optional(energy->joules) : std::nullopt;
  switch (measure) {
    case Measure::kTime: return time_us;
    case Measure::kEnergy: return joules;
    case Measure::kEnergyDelay: return joules ? std::optional(*joules * time_us / 1e6) : std::nullopt;
  }
  return std::nullopt;
}

Result<Objective> Objective::Parse(std::string_view words) {
  Objective objective;
  objective.terms_.clear();
  std::vector<std::string_view> names;
  for (const Measure measure : kMeasures) names.push_back(Name(measure));
  for (bool more = true; more;) {
    const std::size_t comma = words.find(',');
    const std::string_view piece = words.substr(0, comma);
    more = comma != std::string_view::npos;
    words.remove_prefix(more ? comma + 1 : words.size());
    const std::size_t colon = piece.find(':');
    const std::string_view name = piece.substr(0, colon);
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      return Fail(ErrorKind::kUsage, fmt::format("there is no objective '{}'{}; known are {}", name,
                                                 DidYouMean(name, names), fmt::join(names, ", ")));
    }
    Term term{kMeasures[static_cast<std::size_t>(known - names.begin())]};
    for (const Term& other : objective.terms_) {
      if (other.measure == term.measure)
        return Fail(ErrorKind::kUsage, fmt::format("the objective names {} twice", name));
    }
    if (more != (colon != std::string_view::npos)) {
      return Fail(ErrorKind::kUsage, fmt::format("objective {}: it has a tolerance when another one follows, and only "
                                                 "then, as in time:0.02,energy",
                                                 name));
    }
    if (more) {
      const std::string_view fraction = piece.substr(colon + 1);
      const char *const begin = fraction.data(), *const end = begin + fraction.size();
      const auto [read, error] = std::from_chars(begin, end, term.tolerance);
      if (error != std::errc() || read != end || !(term.tolerance >= 0 && term.tolerance <= 1)) {
        return Fail(ErrorKind::kUsage,
                    fmt::format("objective {}: the tolerance is a fraction from 0 to 1, not '{}'", name, fraction));
      }
    }
    objective.terms_.push_back(term);
  }
  return objective;
}

Result<Objective> Objective::Choose(std::string_view measure, double slower) {
  Objective chosen = HONE_TRY(Parse(measure));
  if (!chosen.NeedsEnergy()) return chosen;
  return Parse(fmt::format("{}:{},{}", Name(Measure::kTime), slower, measure));
}

std::string Objective::Text() const {
  std::string text;
  for (const Term& term : terms_) {
    text += Name(term.measure);
    if (&term != &terms_.back()) text += fmt::format(":{},", term.tolerance);
  }
  return text;
}

bool Objective::NeedsEnergy() const {
  return std::any_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.measure != Measure::kTime; });
}

double Objective::Slower() const {
  if (first() != Measure::kTime) return std::numeric_limits<double>::infinity();
  return terms_.front().tolerance;
}

Objective::Values Objective::Of(const Evaluation& evaluation) const {
  Values values;
  for (const Term& term : terms_) {
    const std::optional<double> value = Measured(term.measure, evaluation);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

}  // namespace hone
