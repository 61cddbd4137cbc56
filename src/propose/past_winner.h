// What won earlier runs, for whoever writes kernels for a problem like theirs. A plain value; the run store is read by
// search/past_winners.h.
#pragma once

#include <string>

#include "candidate/candidate.h"

namespace hone {

struct PastWinner {
  std::string run, problem;  // whose it was
  Candidate candidate;
  double time_us = 0;
  double speedup = 0;   // over its run's first baseline; 0 = not known
  double likeness = 0;  // of its problem's operators to those at hand, above 0, 1 = the same ones
};

}  // namespace hone
