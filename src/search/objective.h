// What a run makes small: one measure, or several in turn.
//
//   time                  the fastest
//   time:0.02,energy      of those within 2 % of the fastest the one that takes least energy
//   time:0.02,edp         of those the one with the least product of energy and time
//
// The search goes by time; energy is measured of the few that may win, and decides among them (finals.h). Part of a
// run's settings: another objective is another run. Plain values; safe from any thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace hone {

enum class Measure { kTime, kEnergy, kEnergyDelay };
std::string_view Name(Measure measure);  // "edp", as in --objective

// Of one warm call, > 0: microseconds, joules, joule seconds. Nothing when it was refused or not measured.
std::optional<double> Measured(Measure measure, const Evaluation& evaluation);

class Objective {
 public:
  Objective() = default;  // time
  // kUsage with the known measures.
  static Result<Objective> Parse(std::string_view words);
  // As a user says it: a measure, and by how much slower than the fastest, as a fraction, its winner may be.
  static Result<Objective> Choose(std::string_view measure, double slower);
  std::string Text() const;  // as Parse reads it

  Measure first() const { return terms_.front().measure; }
  bool IsTime() const { return terms_.size() == 1 && first() == Measure::kTime; }
  bool NeedsEnergy() const;
  // By how much slower than the fastest a winner may be, as a fraction; infinite where time does not come first.
  double Slower() const;

  // The values of an evaluation, one a measure; empty when one of them is missing: it cannot be ranked.
  using Values = std::vector<double>;
  Values Of(const Evaluation& evaluation) const;

  // Orders entries, which have `Values values`, best first. Equal ones keep their order. Tolerance is measured from the
  // best of all, so that the order does not depend on who was compared with whom.
  template <class Entry>
  void Rank(std::vector<Entry>& entries) const;

 private:
  struct Term {
    Measure measure = Measure::kTime;
    double tolerance = 0;  // a fraction; the last term has none
  };
  std::vector<Term> terms_ = {Term{}};
};

template <class Entry>
void Objective::Rank(std::vector<Entry>& entries) const {
  auto end = entries.end();
  for (std::size_t term = 0; term < terms_.size(); ++term) {
    std::stable_sort(entries.begin(), end,
                     [term](const Entry& a, const Entry& b) { return a.values[term] < b.values[term]; });
    if (entries.begin() == end) return;
    const double limit = entries.front().values[term] * (1 + terms_[term].tolerance);
    end = std::find_if(entries.begin(), end, [&](const Entry& one) { return one.values[term] > limit; });
  }
}

}  // namespace hone
