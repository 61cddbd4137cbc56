// What a device counted and recorded while a candidate ran, as facts.
#pragma once

#include <span>
#include <string>

#include "profile/profile.h"

namespace hone {

// Values of CUPTI's metrics, of one launch; NaN where one makes no sense for it. Those that no fact is made of are left
// out. After the launch's other facts: some of these are held against them.
void AddCounterFacts(Profile& launch, std::span<const std::string> metrics, std::span<const double> values);

// That it took so long in a run.
void AddTime(Profile& profile, double us);

struct TimelinePart {
  double begin_us = 0, end_us = 0;
};
// Of a run of all of it: how long, and how long the device did nothing meanwhile, or two things at once. By their
// beginnings.
void AddTimelineFacts(Profile& whole, std::span<const TimelinePart> parts);

}  // namespace hone
