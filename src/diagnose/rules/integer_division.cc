// A division or remainder of integers by a number that is not known when compiling takes about twenty instructions, a
// conversion each way and a reciprocal among them.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_integer_division {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"divisions", "instructions", "integer_share"};
constexpr double kEach = 20;  // instructions, as counted in what NVRTC 13.0 makes of an unsigned remainder for sm_90a

constexpr RuleMove kMoves[] = {
    {"pack", "more"}, {"unroll", "more"}, {"results", "more"}, {"down", "more"}, {"rows", "more"}};
constexpr std::string_view kFamilies[] = {"conv", "map", "nest", "norm", "pool", "reduce", "scan", "softmax"};

std::optional<Found> Check(const Facts& facts) {
  const double share = std::min(0.9, kEach * facts["divisions"] / facts["instructions"]);
  return Found{
      .lost = share / 2,  // the rest hides behind memory
      .evidence =
          fmt::format("{:.0f} division{} of integers among {:.0f} instructions, about {:.0f} % of them; {:.0f} % "
                      "of those carried out are on integers",
                      facts["divisions"], facts["divisions"] == 1 ? "" : "s", facts["instructions"], 100 * share,
                      100 * facts["integer_share"]),
      .advice =
          "Make the divisor a constant (a template's argument), let a dimension of the grid count what is divided "
          "by, or count up beside the loop in place of / and %."};
}

constexpr ExampleFact kRemainder[] = {{"divisions", 1}, {"instructions", 56}, {"integer_share", 0.55}};
constexpr ExampleFact kRare[] = {{"divisions", 0}, {"instructions", 30}, {"integer_share", 0.4}};
constexpr Example kFires[] = {{"b[i % columns]", kRemainder}};
constexpr Example kSilent[] = {{"b[blockIdx.y]", kRare}};

}  // namespace

HONE_ROW(Rule){
    .name = "integer_division",
    .title = "divisions of integers",
    .scope = Scope::kLaunch,
    .classes = kClasses,
    .needs = kNeeds,
    .threshold = {"divisions", Threshold::Side::kAbove, 0, "one a thread is already a third of a short kernel"},
    .moves = kMoves,
    .families = kFamilies,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_integer_division
