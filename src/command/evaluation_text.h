// Evaluations in words, for the verbs that show them.
#pragma once

#include <string>
#include <string_view>

#include "verdict/verdict.h"

namespace hone {

std::string TimeText(double microseconds);  // "12.3 us", "4.56 ms"; "-" for 0
std::string SpeedupText(double speedup);    // "1.83x"; "-" for 0
std::string JoulesText(double joules);      // "12.3 mJ"; "-" for 0
// "12.3 mJ a call at 600 W, ...": gross and net, the windows' spread, how they were measured.
std::string EnergyWords(const Energy& energy);
// "3.76x faster than eager", "16.1x slower than eager", "as fast as eager".
std::string SpeedWords(double speedup, std::string_view baseline);

// What follows a speed-up, to be read with it: " (95 % interval 1.8x to 1.9x, 12 rounds; weights prepared once: 30
// us)", or why there is none: "; disturbed: ...".
std::string ComparisonText(const Timing& timing, const Comparison& comparison);

// What a confirmation was ranked by, where that is not its median: "  disturbed; ranked by 1.2 ms, the fastest tenth".
std::string RankedText(const Evaluation& confirmed);

// "565 ms: compile 310 (kept), check 14 from 312, timing 240 from 327": in milliseconds, from its begin.
std::string StagesText(const StageTimes& stages);

// Several lines: the outcome and its reason, the evidence, the timing with its confidence intervals and comparisons.
// The log is not in it.
std::string EvaluationForPeople(const Evaluation& evaluation);

}  // namespace hone
