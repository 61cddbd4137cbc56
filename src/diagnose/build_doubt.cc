#include "diagnose/build_doubt.h"

#include <fmt/format.h>

#include <variant>

#include "profile/candidate_profiles.h"

namespace hone {
namespace {

// Choices. A few registers that go to memory and back cost little beside what a larger tile may bring. A tenth of all
// instructions is as much as a kernel that outgrew its registers has (diagnose/rules/spills.cc).
constexpr double kHeavyShare = 0.1, kHeavyBytes = 256;
constexpr double kLight = 0.25;  // of those: what it is made from spills less

bool Heavy(const BuildFacts& build, double share) {
  return build.spill_share >= share * kHeavyShare && build.spilled_bytes >= share * kHeavyBytes;
}

}  // namespace

BuildFacts BuildFactsOf(std::span<const Profile> profiles) {
  BuildFacts build;
  for (const Profile& profile : profiles) {
    if (profile.scope != Scope::kLaunch) continue;
    const double bytes = profile.Get("spill_store_bytes").value_or(0) + profile.Get("spill_load_bytes").value_or(0);
    const double share = profile.Get("spill_share").value_or(0);
    if (share > build.spill_share) {
      build.spill_share = share;
      build.spilled_bytes = bytes;
    }
    // Of a launch that is known the profile says how many blocks are resident, unless none can be.
    const bool placed = profile.Get("block_threads") && profile.Get("multiprocessors").value_or(0) > 0;
    if (placed && !profile.Get("resident_blocks") && build.homeless.empty()) build.homeless = profile.subject;
  }
  return build;
}

std::optional<BuildFacts> LookAtBuild(const Candidate& candidate, const InsightSetting& setting) {
  if (setting.device.kind != DeviceKind::kCuda) return std::nullopt;
  const auto profiled =
      ProfileCandidate(candidate, "the candidate", setting.problem, setting.graph, setting.device, setting.program);
  if (!profiled) return std::nullopt;
  const auto* made = std::get_if<CandidateProfiles>(&*profiled);
  if (made == nullptr) return std::nullopt;
  return BuildFactsOf(made->profiles);
}

std::string WhyDoomed(const BuildFacts& build, const BuildFacts* from) {
  if (!build.homeless.empty())
    return fmt::format(
        "no multiprocessor holds a block of {}: too many registers or threads, or too much shared memory",
        build.homeless);
  if (from == nullptr || !Heavy(build, 1) || Heavy(*from, kLight)) return "";
  return fmt::format("{:.0f} bytes spilled, {:.0f} % of the instructions carried out; {:.0f} bytes before",
                     build.spilled_bytes, 100 * build.spill_share, from->spilled_bytes);
}

}  // namespace hone
