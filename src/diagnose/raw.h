// Facts without rules: what somebody would do who is shown the numbers and not what they mean. Each fact that is a
// share and is named after a setting asks for that setting, whatever its value says; the largest number comes first.
// It is there to be compared with the rules (--tools raw).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "diagnose/finding.h"
#include "profile/profile.h"

namespace hone {

// Which setting a fact is named after, or nearest to by what it measures.
struct RawRow {
  std::string_view fact, knob;
};
std::span<const RawRow> RawRows();

// One finding a fact of the table that the profile has, its rule "raw:FACT"; what it costs is the number itself, times
// the most that the expert ever predicts of a move.
std::vector<Finding> RawFindings(const Profile& profile);

}  // namespace hone
