// The last step of a search, when its objective asks for energy: measuring that takes seconds a candidate, so only a
// few are measured.
//
//   fastest --.      at most Slower() slower,        screened: one short window     finalists: confirmed,
//             '-->   kScreened of them at most  -->  each, where there are more -->  then windows in turn  -->  winner
//
// Decisions follow from times and joules, and of equal ones the faster wins.
#pragma once

#include <vector>

#include "base/result.h"
#include "evaluate/evaluator.h"
#include "search/objective.h"
#include "search/tree.h"

namespace hone {

struct Confirmed {
  int attempt = 0;
  Evaluation evaluation;
};

// Nothing disturbed it, and its speed-up over the first of its baselines is known, if there are any.
bool IsUndisturbed(const Evaluation& confirmed);

// Of the baselines those that a confirmation was not asked about: it has neither a comparison with them nor a note that
// says what is wrong with them.
std::vector<std::string> Unmeasured(const Evaluation& confirmed, const std::vector<std::string>& baselines);

// The last word on each attempt, of all confirmations in the order of measuring: one that was disturbed says nothing
// against an earlier one that was not.
std::vector<Confirmed> LastWords(std::vector<Confirmed> all);

// So many are screened at most, the fastest; and so many get windows in turn: the fastest, and who may take least.
inline constexpr std::size_t kScreened = 12, kEnergyFinalists = 2;

// The attempts that may win, fastest first; all of them where the objective is time.
std::vector<int> Contenders(const Tree& tree, const Objective& objective);

// Of the contenders those that are to be confirmed: the fastest `count`; where the objective asks for energy the
// fastest and the best of the others, as one short window tells it. Where there are no more than two nothing is
// measured.
Result<std::vector<int>> Finalists(const Tree& tree, const Objective& objective, std::size_t count,
                                   Evaluator& evaluator);

// Gives each that was accepted and timed its energy; why one has none becomes a note of its evaluation.
Result<void> MeasureEnergy(std::vector<Confirmed>& confirmed, const Tree& tree, const EnergyRequest& request,
                           Evaluator& evaluator);

// The attempt that wins by the objective; where nobody has what it measures, the fastest. 0: none was accepted.
int Winner(const std::vector<Confirmed>& confirmed, const Objective& objective);

}  // namespace hone
