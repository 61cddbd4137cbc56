// A library makes products more exactly than the contract asks, at the rate of the more exact units.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/rule.h"

namespace hone::rule_excess_precision {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"excess_bits", "product_bits", "contract_bits", "contract"};

constexpr RuleMove kMoves[] = {{"way", "library_tf32"}, {"precision", "tf32"}, {"way", "bf16"}, {"way", "library"}};
constexpr std::string_view kFamilies[] = {"conv", "matmul"};

std::optional<Found> Check(const Facts& facts) {
  // f32 runs at a seventh of the rate of TF32 or less, which runs at half of that of the 16-bit types.
  const bool single = facts["product_bits"] >= 23;
  return Found{
      .lost = single ? 0.8 : 0.5,
      .evidence = fmt::format("products are made with {:.0f} bits of mantissa, the contract '{}' asks for {:.0f}",
                              facts["product_bits"], facts.Word("contract"), facts["contract_bits"]),
      .advice = fmt::format("Make them in the least exact type that the contract allows{}.",
                            facts["contract_bits"] >= 10 ? ": \"compute\": \"tf32\"" : ", of 16 bits"),
      .moves = facts["contract_bits"] >= 10 ? std::vector<Move>{{"way", "library_tf32"}, {"precision", "tf32"}}
                                            : std::vector<Move>{{"way", "bf16"}, {"way", "library"}}};
}

constexpr ExampleFact kSingle[] = {
    {"excess_bits", 13}, {"product_bits", 23}, {"contract_bits", 10}, {"contract", 0, "tf32"}};
constexpr ExampleFact kEqual[] = {
    {"excess_bits", 0}, {"product_bits", 10}, {"contract_bits", 10}, {"contract", 0, "tf32"}};
constexpr Example kFires[] = {{"cuBLASLt in f32 where TF32 would do", kSingle}};
constexpr Example kSilent[] = {{"TF32 under its contract", kEqual}};

}  // namespace

HONE_ROW(Rule){.name = "excess_precision",
               .title = "products more exact than asked",
               .scope = Scope::kPlan,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"excess_bits", Threshold::Side::kAbove, 0, "any bit more is another unit"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_excess_precision
