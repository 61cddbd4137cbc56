// A gate: one thing that no candidate gets past. To add one, copy gates/40_idle.cc: one file is one gate, and its name
// begins with its place. Gates look in the order of the names; a place is free to be taken between any two. What a
// gate has against a candidate is the verdict, and no later gate is asked.
//
//     moment     when                                                                    gates
//     loaded     a worker waits for its first question                                   1x
//     called     after each call whose outputs are looked at, timed ones included        2x
//     drawn      a draw is loaded and the candidate prepared on it: the gate calls it    3x
//     soaked     it was right on all draws and has been called many times since          4x
//     timed      it has taken its turns beside the baselines                             5x and on
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.h"
#include "base/row.h"
#include "judge/examination.h"
#include "judge/timing.h"
#include "verdict/refusal.h"

namespace hone {

struct Loading {
  Request question;  // that loads the candidate
};

struct LookedAtCall {
  const DrawnInputs& inputs;
  std::size_t slot;  // where they lie
  const Reply& reply;
};

struct PreparedDraw {
  const DrawnInputs& inputs;  // in slot 0
  std::size_t which;          // of the draws
};

struct Soaked {
  const DrawnInputs& inputs;
  SeenOutputs seen;  // of the last call
};

struct TimedCandidate {
  WorkerParticipant& candidate;
  Samples cold;         // of its calls, microseconds
  double bound_us = 0;  // nobody is below it; 0 = unknown
  // Set by a gate that a burst of somebody else's work may have misled: a fresh worker is timed again then, in a quiet
  // moment, and its word counts.
  bool doubtful = false;
};

// What it has against a candidate at each moment that it looks at; null at the others.
struct Gate {
  std::string_view name;  // the file's
  Result<Refusal> (*loaded)(Examination&, const Loading&) = nullptr;
  Result<Refusal> (*called)(Examination&, const LookedAtCall&) = nullptr;
  Result<Refusal> (*drawn)(Examination&, const PreparedDraw&) = nullptr;
  Result<Refusal> (*soaked)(Examination&, const Soaked&) = nullptr;
  Result<Refusal> (*timed)(Examination&, TimedCandidate&) = nullptr;
};

std::span<const Gate* const> AllGates();  // in their order

// What the first gate that has something against the candidate says: PassGates(&Gate::called, examination, call).
template <class Moment>
Result<Refusal> PassGates(Result<Refusal> (*Gate::*look)(Examination&, Moment&), Examination& examination,
                          std::type_identity_t<Moment>& moment) {
  for (const Gate* gate : AllGates()) {
    if (gate->*look) HONE_PASS((gate->*look)(examination, moment));
  }
  return Refusal();
}

}  // namespace hone
