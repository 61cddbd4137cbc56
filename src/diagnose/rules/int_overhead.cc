// More than half of what is carried out are integers: indices are computed, not data.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_int_overhead {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"integer_share", "single_share", "tensor_share"};
constexpr std::string_view kUses[] = {"loops", "issue_to_memory", "divisions", "instructions"};
constexpr double kUsual = 0.3;
constexpr double kDivision = 20;  // instructions, which rules/integer_division.cc speaks of

constexpr RuleMove kMoves[] = {
    {"pack", "more"}, {"unroll", "more"}, {"results", "more"}, {"down", "more"}, {"rows", "more"}};
constexpr std::string_view kFamilies[] = {"conv", "map", "nest", "norm", "pool", "reduce", "scan", "softmax"};

std::optional<Found> Check(const Facts& facts) {
  const double divided =
      kDivision * facts.Maybe("divisions").value_or(0) / std::max(1.0, facts.Maybe("instructions").value_or(1));
  const double lost = (facts["integer_share"] - std::min(0.9, divided) - kUsual) / 2;  // others work beside them
  if (lost <= 0) return std::nullopt;
  return Found{
      .lost = lost,
      .evidence =
          fmt::format("{:.0f} % of the instructions carried out are on integers, {:.0f} % compute in f32, {:.0f} % "
                      "are products on tensor cores",
                      100 * facts["integer_share"], 100 * facts["single_share"], 100 * facts["tensor_share"]),
      .advice =
          facts.Maybe("loops").value_or(0) > 0
              ? "Move what does not change out of the loop, step pointers in place of computing each address, and "
                "make extents template arguments, so that the compiler folds them."
              : "Let each thread do several neighbours, so that one address serves them all, and make extents "
                "template arguments."};
}

constexpr ExampleFact kIndices[] = {{"integer_share", 0.62}, {"single_share", 0.08}, {"tensor_share", 0}, {"loops", 1}};
constexpr ExampleFact kData[] = {{"integer_share", 0.2}, {"single_share", 0.6}, {"tensor_share", 0}};
constexpr Example kFires[] = {{"four-dimensional indices in a loop", kIndices}};
constexpr ExampleFact kDivided[] = {
    {"integer_share", 0.7}, {"single_share", 0.03}, {"tensor_share", 0}, {"divisions", 4}, {"instructions", 130}};
constexpr Example kSilent[] = {{"an unrolled polynomial", kData},
                               {"divisions, which have a rule of their own", kDivided}};

}  // namespace

HONE_ROW(Rule){
    .name = "int_overhead",
    .title = "more index arithmetic than work",
    .scope = Scope::kLaunch,
    .classes = kClasses,
    .needs = kNeeds,
    .uses = kUses,
    .threshold = {"integer_share", Threshold::Side::kAbove, 0.5,
                  "integers run at half the rate of f32 (CUDA C++ Programming Guide, arithmetic throughput): "
                  "beyond half they alone decide"},
    .moves = kMoves,
    .families = kFamilies,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_int_overhead
