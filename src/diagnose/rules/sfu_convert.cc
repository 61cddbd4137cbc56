// Reciprocals, roots, exponentials and conversions go through a unit that makes 16 results a clock where the others
// make 128: beyond an eighth of the instructions it is what everything waits for.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_sfu_convert {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"slow_share", "special_share", "conversion_share"};
constexpr std::string_view kUses[] = {"special_busy"};
constexpr double kTimesSlower = 8;

std::optional<Found> Check(const Facts& facts) {
  constexpr double kHardlyBusy = 0.4;
  if (facts.Maybe("special_busy").value_or(1) < kHardlyBusy) return std::nullopt;
  return Found{
      .lost = 1 - 1 / (kTimesSlower * facts["slow_share"]),
      .evidence = fmt::format("{:.1f} % of the instructions carried out are special functions, {:.1f} % conversions; "
                              "their unit is {:.0f} times as slow",
                              100 * facts["special_share"], 100 * facts["conversion_share"], kTimesSlower),
      .advice = facts["conversion_share"] > facts["special_share"]
                    ? "Convert once, outside of the loop, or two at a time (__float22half2_rn and the like)."
                    : "Use __expf, or exp2f with log2(e) folded into the scale, multiply by one reciprocal in place of "
                      "many divisions, and compute some exponentials as polynomials."};
}

constexpr ExampleFact kExponentials[] = {{"slow_share", 0.24}, {"special_share", 0.24}, {"conversion_share", 0}};
constexpr ExampleFact kConversions[] = {{"slow_share", 0.3}, {"special_share", 0}, {"conversion_share", 0.3}};
constexpr ExampleFact kOne[] = {{"slow_share", 0.04}, {"special_share", 0.04}, {"conversion_share", 0}};
constexpr ExampleFact kIdle[] = {
    {"slow_share", 0.24}, {"special_share", 0.24}, {"conversion_share", 0}, {"special_busy", 0.1}};
constexpr Example kFires[] = {{"an exponential for every other operation", kExponentials},
                              {"integers made reals in the inner loop", kConversions}};
constexpr Example kSilent[] = {{"one root a row", kOne}, {"many, but the unit is idle", kIdle}};

}  // namespace

HONE_ROW(Rule){.name = "sfu_convert",
               .title = "special functions and conversions in the way",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"slow_share", Threshold::Side::kAbove, 1 / kTimesSlower,
                             "16 results a clock and multiprocessor against 128 of f32 (CUDA C++ Programming Guide, "
                             "arithmetic throughput)"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_sfu_convert
