// What a candidate's build says against giving it time on a device: facts of the machine code, which cost a compilation
// and nothing else, beside those of the attempt that it is made from. Facts of a build are the same each time, so what
// is decided by them can be decided again.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "candidate/candidate.h"
#include "diagnose/insight.h"
#include "profile/profile.h"

namespace hone {

struct BuildFacts {
  // Of the kernel that spills most.
  double spilled_bytes = 0;  // by all spilling instructions of its text, each once, stored and loaded
  double spill_share = 0;    // of the instructions that are carried out, 0 to 1
  std::string homeless;      // a kernel of which a multiprocessor does not hold a single block; empty: none
};
BuildFacts BuildFactsOf(std::span<const Profile> profiles);

// Of a candidate for a device, from the build cache or into it. Nothing for one of a processor, which has no such
// facts, and where it cannot be built: the judge says why. Fails never; any thread.
std::optional<BuildFacts> LookAtBuild(const Candidate& candidate, const InsightSetting& setting);

// Why it need not be tried: it spills heavily and what it is made from does not, or it cannot run at all. Empty: it may
// do. `from` is null where it is made from nothing that was accepted.
std::string WhyDoomed(const BuildFacts& build, const BuildFacts* from);

}  // namespace hone
