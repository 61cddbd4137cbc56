// What is asked of one evaluation.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace hone {

struct EvaluateRequest {
  bool time = true;                                // false: judge only
  std::chrono::milliseconds timing_budget{1000};   // for one candidate's timing beside one baseline
  double confidence = 0.02;                        // stop when the 95 % interval is within this fraction of the median,
                                                   // or of more the later it is (judge/race.h)
  std::vector<std::string> baselines = {"naive"};  // to compare with, of those that the evaluator has
  std::vector<std::string> in_turn;  // of them: those that take turns with the candidate also if their time is known
  // New seeds, to confirm a winner: draws that nobody was judged on before. Those who are confirmed one after the other
  // have the same.
  bool fresh_draws = false;
  // One of many attempts: where the oracle takes long, fewer draws decide, the most telling ones. Who is confirmed is
  // judged on all.
  bool first_look = false;
  bool range_full = false;  // being wrong on the very wide draw refuses, too, and no draw goes by the norm
  bool certify = false;     // what is accepted goes through compute-sanitizer, too (evaluate/certify.h)
  double bound_us = 0;      // nobody is below it on this machine; who is faster is suspicious. 0 = unknown
  double best_us = 0;       // the fastest so far: who is clearly slower is timed no longer than that takes. 0 = none
};

// What is asked of measuring energy: of each candidate so many windows, in turn with the others'.
struct EnergyRequest {
  std::chrono::milliseconds window{5000};  // at least; whole ticks of the counter
  int windows = 3;                         // of each candidate
  bool idle = true;                        // what the device takes at rest is measured before
};

}  // namespace hone
