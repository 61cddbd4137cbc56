// Searches side by side: arms, each a strategy, a proposer and its budget, over the same problems with the same seeds,
// and what can be said of their differences. A problem counts once however many seeds it had.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnose/advisers.h"
#include "search/paired.h"
#include "search/recorded.h"
#include "search/stopper.h"

namespace hone {

inline constexpr std::string_view kUsualProposer = "expert";  // of an arm that names none

struct Arm {
  std::string words;   // as they were typed
  std::string search;  // Chosen::Identity
  Budget budget;
  std::string memory;  // what it begins with: "" nothing, "on" what was tried elsewhere, or a file of `hone memory`
  Advisers tools;      // who says what facts mean; live
  std::string proposer = std::string(kUsualProposer);  // as ChosenProposers reads it; live
};
// "mcts:memory=0 --budget 20 --time 60 --headroom 0.1 --idle 8 --memory FILE --tools raw --proposer model:coder"; what
// is not said is `budget`. kUsage for other words.
Result<Arm> ParseArm(const std::string& words, const Budget& budget);

// What the arms' searches of one problem came to.
struct ProblemTraces {
  std::string problem;
  double best_us = 0;                      // the fastest that is known, > 0
  std::vector<std::vector<Trace>> traces;  // by arm and seed
};

// The searches of one problem: `search` makes one by an arm and a seed. The arms take turns, and who begins changes
// from seed to seed. `after`, if there is one, is told after each search what there is by then.
using TracesSoFar = std::function<void(const std::vector<std::vector<Trace>>&)>;
template <class Search>
Result<std::vector<std::vector<Trace>>> EachInTurn(const std::vector<Arm>& arms, std::int64_t seeds, Search search,
                                                   const TracesSoFar& after = {}) {
  std::vector<std::vector<Trace>> traces(arms.size());
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    for (std::size_t turn = 0; turn < arms.size(); ++turn) {
      const std::size_t arm = (turn + static_cast<std::size_t>(seed) - 1) % arms.size();
      traces[arm].push_back(HONE_TRY(search(arms[arm], static_cast<std::uint64_t>(seed))));
      if (after) after(traces);
    }
  }
  return traces;
}

// Quality: the fastest known time over that of the attempt that a search held to be the best; 1 = it found it, and
// kNothing while nothing was accepted. Means of it are geometric.
struct ArmFigures {
  double quality = 0;  // at the end
  double anytime = 0;  // over all attempts of the budget; after its end a search keeps what it has
  double reached = 0;  // the share of searches that came to 95 % of the fastest
  double to_95_attempts = 0, to_95_seconds = 0;  // that took so many: the median of all; 0 = most never came there
  double attempts = 0, seconds = 0;              // that a search made and took, mean
  double tokens = 0, dollars = 0;                // that language models took of a search, mean
  std::vector<double> curve;                     // quality after attempt 1, 2, ...
  std::vector<double> by_problem;                // quality at the end
};
struct ArmAgainst {  // the first arm; differences of the logarithms of qualities, one a problem
  Paired quality, anytime;
};
struct Compared {
  std::vector<ArmFigures> arms;
  std::vector<ArmAgainst> against;  // of the second arm, the third, ...
};

inline constexpr double kNothing = 0.01;  // quality of a search that has nothing; less would rule all means
inline constexpr double kEnough = 0.95;   // of the fastest
inline constexpr double kNoWin = 0.005;   // a difference of half a percent is none

// `attempts`: what curves go to, the largest budget of the arms. There is an arm, a problem and a seed at least.
Compared CompareArms(const std::vector<ProblemTraces>& problems, int attempts);

}  // namespace hone
