// The race of a timing: a candidate and its baselines take turns, round by round, until the candidate's time is sure
// enough or the time is up.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/machine_load.h"
#include "judge/rounds.h"
#include "judge/timing.h"
#include "target/cuda/nvml.h"
#include "verdict/refusal.h"

namespace hone {

// Who takes part.
struct Series {
  std::string name;  // "" for the candidate, who is the first
  Participant* participant = nullptr;
  bool gone = false;   // failed
  bool known = false;  // there are times of this baseline beside earlier candidates
  Turns turns{};
  double spent_us = 0;  // by our clock
};

// Processor time of all of them, of processes that several share once: twice would hide as much of others' work.
double UsedSeconds(const std::vector<Series>& series);

// A turn, whose time is added to spent_us.
Result<Taken> TakeTurn(Series& one, std::chrono::microseconds slice, int cold);

struct RaceSettings {
  double budget_us = 0;    // for all together
  double patience_us = 0;  // beyond, for a quiet moment
  double confidence = 0;   // the 95 % interval shall be within this fraction of the median, in the first quarter of
                           // the budget; later within as many times that as it is later
  int cold = 0;            // calls from cold caches a turn
  double best_us = 0;      // the fastest so far: who is clearly slower is timed less exactly; 0 = there is none
  const cuda::Nvml* nvml = nullptr;  // of the device, if there is one
};

struct RaceEnd {
  Refusal refusal;              // of the candidate, in its turn
  bool clearly_slower = false;  // than best_us: it ended early
  Clocks clocks;                // of the device
};

// For a while longer than its budget if the machine was not quiet. A baseline that fails leaves, with a note. Fails
// when the candidate's turn does, or with kInterrupted.
Result<RaceEnd> Race(std::vector<Series>& series, const RaceSettings& settings, MachineLoad& load,
                     std::vector<std::string>& notes, const std::atomic<bool>* interrupt);

}  // namespace hone
