// The kernel that a run was given to start from (SearchSettings::start), beside the run's winner: did the search beat
// it, and by how much?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "search/loop.h"

namespace hone {

inline constexpr std::string_view kStartKey = "start";  // Proposal::key of that kernel

// What a start is proposed as. `name`: what a person calls it, its file's name.
Proposal StartProposal(Candidate candidate, const std::string& name);
std::string StartName(std::string_view origin);  // the name, of such a proposal's origin

struct AgainstStart {
  double start_us = 0;  // warm; 0 = it was refused or not timed
  double best_us = 0;   // warm, the winner's, by the same measurement; 0 = there is no winner
  bool again = false;   // both were measured again, on fresh inputs in the same minutes; else both in the search
  // Of the winner over the start, > 0, 1 = equal; nothing where either has no time.
  std::optional<double> speedup;
  bool faster = false;  // beyond doubt: the medians' intervals do not meet
};

// Nothing where the run did not start from a kernel of somebody's.
std::optional<AgainstStart> CompareWithStart(const SearchOutcome& outcome);

}  // namespace hone
