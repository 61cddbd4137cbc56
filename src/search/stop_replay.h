// What another rule to stop by would have cost and kept, of a run that was made: the same attempts in the same order,
// up to where the rule says stop. That is what would have happened, since no decision of a search depends on its
// budget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "search/stopper.h"

namespace hone {

// An attempt, as far as stoppers see it.
struct StopPoint {
  double seconds = 0;  // that it took
  double value = 0;    // by the objective's first measure, smaller is better; 0 = it was refused
  double joules = 0;   // that judging and timing it used
};

struct StoppedAt {
  int attempts = 0;
  double seconds = 0, joules = 0;  // of these attempts
  double best = 0;                 // value; 0 = nothing was accepted by then
  std::string reason;              // empty: the rule did not stop it
};

// `bound`: of the value, 0 = not known. Several lanes are taken for one.
StoppedAt StopBy(const Budget& budget, const std::vector<StopPoint>& attempts, double bound);

// "--budget 20 --time 60 --joules 900 --headroom 0.1 --idle 8", the dashes may be left out; what is not said is
// `otherwise`. kUsage and a line that begins with `who`. `also`: what else its reader takes, for that line.
Result<Budget> ParseBudget(std::string_view who, const std::string& words, const Budget& otherwise,
                           std::string_view also = "");

}  // namespace hone
