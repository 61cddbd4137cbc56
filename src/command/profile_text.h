// A profile for people: what was counted, kernel by kernel, with units, and what ran when.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "command/command.h"
#include "diagnose/diagnose.h"
#include "diagnose/insight.h"
#include "profile/candidate_profiles.h"
#include "protocol/profiled.h"

namespace hone {

// What there is to say of a candidate, by its path, that has no profile because it does not compile.
Answer DoesNotCompile(const std::string& path, const Unprofiled& wrong);

// Counted and timed facts of all launches, some columns at a time; empty where there are none.
std::string DescribeMeasured(std::span<const Subject> subjects);

// The same of what a run keeps.
std::string DescribeCounted(std::span<const CountedFacts> counted);

// One line a kernel, memset or copy of a run; empty where nothing was recorded.
std::string DescribeTimeline(const ProfiledReport& report);

// Two ways of counting the same kernels beside each other: how far they are apart, metric by metric, at most and in
// the middle. JSON: [{"metric", "kernel", "counted", "oracle", "apart"}].
struct ComparedCount {
  std::string metric, kernel;
  double counted = 0, oracle = 0;
  double apart() const;  // share of the oracle's, beyond what ncu rounds away: it prints two digits
};
std::vector<ComparedCount> Compare(const ProfiledReport& counted, const ProfiledReport& oracle);
nlohmann::json ToJson(std::span<const ComparedCount> rows);
std::string Describe(std::span<const ComparedCount> rows);

}  // namespace hone
