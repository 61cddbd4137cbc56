// A Proposer says what to try. The search asks it for candidates to start from and for improvements on an attempt; it
// is told of every attempt that ended. The built-in expert (expert/) and the team of agents are two of the kind.
//
//            Start() ----> [A 12 us] [B 15 us]          roots, best predicted first
//                             |
//   evaluated, accepted    Next(A, round 0) -> [A1 9 us] [A2 11 us]
//                                         |
//   evaluated, wrong                   Next(A1, round 0) -> []  or a repair
//
// A run is resumed by making the same calls again with the recorded evaluations in place of new ones. So a proposer has
// to be a function of what it is told: the same calls with the same arguments and an equally seeded Random give the
// same proposals. State it may keep, as long as it comes from these calls alone: no clock, no addresses, no unordered
// iteration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "candidate/candidate.h"
#include "propose/random.h"
#include "verdict/verdict.h"

namespace hone {

struct Proposal {
  Candidate candidate;
  std::string origin;  // who and by which move, for people: "expert: tile 64x256 -> 128x256"
  std::string key;     // the move's name among the proposals of one attempt, for records: "tile_n=256". Unique there.
  double predicted_us = 0;  // the proposer's own estimate of the warm time, in microseconds; 0 = it has none
};

// A proposal that was tried.
struct Attempt {
  int number = 0;  // 1, 2, ... in the order of trying
  int parent = 0;  // the attempt that it improves on; 0 = it came from Start
  Proposal proposal;
  Evaluation evaluation;

  bool accepted() const { return evaluation.verdict.accepted(); }
  // The warm median in microseconds; 0 when it was refused or not timed.
  double time_us() const { return accepted() && evaluation.timing ? evaluation.timing->LikelyUs() : 0; }
};

// Not thread-safe: one run, one proposer, one caller. Calls may block (an agent thinks for minutes).
class Proposer {
 public:
  virtual ~Proposer() = default;

  virtual std::string_view name() const = 0;  // as in --proposer and in the run store: "expert"

  // The candidates to begin with, best predicted first. Called once, before all else. An empty list ends the run. Fails
  // when the world does (no network for an agent), or with kUsage when the problem is beyond this proposer.
  virtual Result<std::vector<Proposal>> Start(Random& random) = 0;

  // Improvements on `from`, or repairs when it was refused, best predicted first. Round 0 comes first; when all that a
  // round gave has been tried, the search may ask for the next round. An empty list means that there is nothing more to
  // come for this attempt. A candidate that was tried before may be offered again: the search drops it.
  virtual Result<std::vector<Proposal>> Next(const Attempt& from, int round, Random& random) = 0;

  // Every attempt that ended, in the order of their numbers, right after its verdict is known.
  virtual void Observe(const Attempt& attempt) { static_cast<void>(attempt); }
};

}  // namespace hone
