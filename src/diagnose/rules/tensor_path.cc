// Sums of products that decide how long a problem takes, and no step that makes them on tensor cores.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_tensor_path {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory};
constexpr std::string_view kNeeds[] = {"product_share", "tensor_steps", "vector_limit_us", "bound_us", "contract"};

constexpr RuleMove kMoves[] = {{"way", "f32x3"}, {"way"}};
constexpr std::string_view kFamilies[] = {"attention", "conv", "matmul"};

std::optional<Found> Check(const Facts& facts) {
  constexpr double kWorthIt = 1.25;
  if (facts["tensor_steps"] > 0 || facts["vector_limit_us"] < kWorthIt * facts["bound_us"]) return std::nullopt;
  const bool exact = facts.Word("contract") == "fp32";
  return Found{
      .lost = 1 - facts["bound_us"] / facts["vector_limit_us"],
      .evidence = fmt::format(
          "{:.0f} % of the FLOPs are sums of products, and no step makes them on tensor cores: {:.3g} us at "
          "least, where the bound is {:.3g} us",
          100 * facts["product_share"], facts["vector_limit_us"], facts["bound_us"]),
      .advice =
          exact
              ? "Single precision is had on tensor cores, too: three products of halves (way f32x3), or a library's."
              : fmt::format("The contract '{}' lets products be made on tensor cores: mma.sync, wgmma, or a library's.",
                            facts.Word("contract")),
      .moves = exact ? std::vector<Move>{{"way", "f32x3"}, {"way", ""}} : std::vector<Move>{{"way", ""}}};
}

constexpr ExampleFact kLoop[] = {
    {"product_share", 1}, {"tensor_steps", 0}, {"vector_limit_us", 2050}, {"bound_us", 420}, {"contract", 0, "fp32"}};
constexpr ExampleFact kHalves[] = {{"product_share", 0.99},
                                   {"tensor_steps", 0},
                                   {"vector_limit_us", 2050},
                                   {"bound_us", 140},
                                   {"contract", 0, "bf16"}};
constexpr ExampleFact kUsed[] = {
    {"product_share", 1}, {"tensor_steps", 1}, {"vector_limit_us", 2050}, {"bound_us", 420}, {"contract", 0, "fp32"}};
constexpr ExampleFact kMemory[] = {
    {"product_share", 0.9}, {"tensor_steps", 0}, {"vector_limit_us", 3}, {"bound_us", 20}, {"contract", 0, "fp32"}};
constexpr Example kFires[] = {{"a tiled product in f32", kLoop}, {"a product of bf16 by multiply-adds", kHalves}};
constexpr Example kSilent[] = {{"three products of halves", kUsed}, {"a product with one row", kMemory}};

}  // namespace

HONE_ROW(Rule){.name = "tensor_path",
               .title = "products off the tensor cores",
               .scope = Scope::kPlan,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"product_share", Threshold::Side::kAbove, 0.5, "less, and other arithmetic decides"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_tensor_path
