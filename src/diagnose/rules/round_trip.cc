// What one step writes for a later one crosses the memory twice. A step that made and used it would keep it in
// registers or in shared memory.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_round_trip {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLaunch, Bottleneck::kLatency,
                                   Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"handed_on_share", "handed_on_bytes", "handed_on_most", "plan_bytes",
                                       "launches"};
constexpr std::string_view kUses[] = {"l2_bytes", "bytes_limit_us", "flops_limit_us"};

// A smaller split is none of them: what its parts hand on is no value of the problem. 21 such moves at two perceptrons
// made products 4 to 18 % slower (two H200s, 2026-11-23, docs/measured/tools.md).
constexpr RuleMove kMoves[] = {{"products", "together"}, {"team", "less"}};
constexpr std::string_view kFamilies[] = {"matmul", "norm", "reduce", "softmax"};

std::optional<Found> Check(const Facts& facts) {
  double lost = facts["handed_on_share"];
  std::string where = "through the device's memory";
  if (const auto l2 = facts.Maybe("l2_bytes"); l2 && facts["handed_on_bytes"] < *l2 / 2) {
    lost /= 3;  // L2 is about three times as fast as memory
    where = "mostly in L2";
  }
  const auto bytes_us = facts.Maybe("bytes_limit_us"), flops_us = facts.Maybe("flops_limit_us");
  if (bytes_us && flops_us && *flops_us > *bytes_us) lost *= *bytes_us / *flops_us;  // arithmetic hides the rest
  return Found{.lost = lost,
               .evidence = fmt::format(
                   "{:.3g} MB of the {:.3g} MB that {:.0f} steps move are written by one and read by another, "
                   "{}; the most of it is '{}'",
                   facts["handed_on_bytes"] / 1e6, facts["plan_bytes"] / 1e6, facts["launches"], where,
                   facts.Word("handed_on_most")),
               .advice = fmt::format(
                   "Let the step that makes '{}' go on to what is done with it: a chain after a product, a norm's "
                   "second pass over a row that is still in registers.",
                   facts.Word("handed_on_most"))};
}

constexpr ExampleFact kChain[] = {{"handed_on_share", 0.5},
                                  {"handed_on_bytes", 134e6},
                                  {"handed_on_most", 0, "scaled"},
                                  {"plan_bytes", 268e6},
                                  {"launches", 2}};
constexpr ExampleFact kSmall[] = {{"handed_on_share", 0.4}, {"handed_on_bytes", 4e6}, {"handed_on_most", 0, "h"},
                                  {"plan_bytes", 10e6},     {"launches", 2},          {"l2_bytes", 60e6}};
constexpr ExampleFact kPartial[] = {{"handed_on_share", 0.01},
                                    {"handed_on_bytes", 1e5},
                                    {"handed_on_most", 0, "parts"},
                                    {"plan_bytes", 1e7},
                                    {"launches", 2}};
constexpr Example kFires[] = {{"a product and its activation apart", kChain}, {"the same in L2", kSmall}};
constexpr Example kSilent[] = {{"partial sums of a split reduction", kPartial}};

}  // namespace

HONE_ROW(Rule){.name = "round_trip",
               .title = "a value written and read again",
               .scope = Scope::kPlan,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"handed_on_share", Threshold::Side::kAbove, 0.05,
                             "what is less is no trip worth saving; not measured"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_round_trip
