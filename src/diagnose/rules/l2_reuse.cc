// Blocks that share operands run far apart, so that L2 has lost them when they come back.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_l2_reuse {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory};
constexpr std::string_view kNeeds[] = {"l2_hit_share", "step_bytes", "traffic_ratio", "l2_bytes"};

constexpr RuleMove kMoves[] = {{"cluster", "more"}, {"tile", "more"}};
constexpr std::string_view kFamilies[] = {"attention", "matmul"};

std::optional<Found> Check(const Facts& facts) {
  // Where each byte is read once there is nothing to hit, and what fits is there anyway.
  if (facts["traffic_ratio"] < 1.2 || facts["step_bytes"] < facts["l2_bytes"]) return std::nullopt;
  return Found{
      .lost = (1 - 1 / facts["traffic_ratio"]) * (1 - facts["l2_hit_share"]),
      .evidence =
          fmt::format("{:.0f} % of the sectors are found in L2, and memory moves {:.2f} times the {:.3g} MB of its "
                      "tensors",
                      100 * facts["l2_hit_share"], facts["traffic_ratio"], facts["step_bytes"] / 1e6),
      .advice =
          "Number the blocks so that those which share rows and columns run at the same time (a swizzled order of "
          "tiles)."};
}

constexpr ExampleFact kRows[] = {
    {"l2_hit_share", 0.35}, {"step_bytes", 400e6}, {"traffic_ratio", 3}, {"l2_bytes", 60e6}};
constexpr ExampleFact kStream[] = {
    {"l2_hit_share", 0.1}, {"step_bytes", 400e6}, {"traffic_ratio", 1}, {"l2_bytes", 60e6}};
constexpr ExampleFact kSwizzled[] = {
    {"l2_hit_share", 0.8}, {"step_bytes", 400e6}, {"traffic_ratio", 1.3}, {"l2_bytes", 60e6}};
constexpr Example kFires[] = {{"a product whose tiles go along rows", kRows}};
constexpr Example kSilent[] = {{"a map", kStream}, {"tiles in squares", kSwizzled}};

}  // namespace

HONE_ROW(Rule){.name = "l2_reuse",
               .title = "operands lost from L2",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"l2_hit_share", Threshold::Side::kBelow, 0.5, "half; not measured"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_l2_reuse
