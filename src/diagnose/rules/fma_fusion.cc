// Additions and products in f32 that could be one fused multiply-add take two instructions in place of one.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_fma_fusion {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"unfused_share", "single_share", "single_unfused", "single_fused"};
constexpr double kMuch = 0.25;  // below, a kernel has other things to do

std::optional<Found> Check(const Facts& facts) {
  if (facts["single_share"] < kMuch) return std::nullopt;
  return Found{
      .lost = facts["unfused_share"] / 2 * facts["single_share"],  // each pair would be one
      .evidence =
          fmt::format("{:.0f} additions and products beside {:.0f} fused multiply-adds in the text; up to {:.0f} % "
                      "of the arithmetic in f32 that is carried out could be fused in pairs",
                      facts["single_unfused"], facts["single_fused"], 100 * facts["unfused_share"]),
      .advice =
          "Write a * b + c as fmaf(a, b, c), take sums of products in the order in which they fuse (Horner's for a "
          "polynomial), and compile without --fmad=false."};
}

constexpr ExampleFact kApart[] = {
    {"unfused_share", 1}, {"single_share", 0.7}, {"single_unfused", 64}, {"single_fused", 0}};
constexpr ExampleFact kHorner[] = {
    {"unfused_share", 0.05}, {"single_share", 0.7}, {"single_unfused", 2}, {"single_fused", 32}};
constexpr ExampleFact kLittle[] = {
    {"unfused_share", 1}, {"single_share", 0.1}, {"single_unfused", 2}, {"single_fused", 0}};
constexpr Example kFires[] = {{"__fmul_rn and __fadd_rn", kApart}};
constexpr Example kSilent[] = {{"a polynomial by Horner's rule", kHorner}, {"x * a in a kernel that copies", kLittle}};

}  // namespace

HONE_ROW(Rule){.name = "fma_fusion",
               .title = "multiply-adds that are not fused",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"unfused_share", Threshold::Side::kAbove, 0.2,
                             "half of it could be saved, a tenth of the arithmetic: the trigger of Nsight Compute's "
                             "FPInstructions (2025.4)"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_fma_fusion
