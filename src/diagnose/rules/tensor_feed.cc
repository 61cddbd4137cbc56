// Tensor cores are used and stand idle: what they multiply does not come in time.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_tensor_feed {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kLatency, Bottleneck::kMemory};
constexpr std::string_view kNeeds[] = {"tensor_busy", "tensor_instructions", "stall_memory"};
constexpr std::string_view kUses[] = {"wgmma_instructions", "bulk_copies", "stall_products"};
constexpr double kEnough = 0.6;

constexpr RuleMove kMoves[] = {{"stages", "more"}, {"tile", "more"}, {"cluster", "more"}};
constexpr std::string_view kFamilies[] = {"attention", "matmul"};

std::optional<Found> Check(const Facts& facts) {
  if (facts["tensor_instructions"] <= 0) return std::nullopt;
  const bool warpgroups = facts.Maybe("wgmma_instructions").value_or(0) > 0;
  const bool ahead = facts.Maybe("bulk_copies").value_or(0) > 0;
  return Found{
      .lost = 1 - facts["tensor_busy"] / kEnough,
      .evidence = fmt::format("tensor cores are busy {:.0f} % of the time; warps wait for memory {:.0f} % of theirs",
                              100 * facts["tensor_busy"], 100 * facts["stall_memory"]),
      .advice = !ahead ? "Copy the next tiles ahead into shared memory (cp.async, TMA) while these are multiplied."
                : !warpgroups
                    ? "Products of warpgroups (wgmma) take their operands from shared memory at about twice the "
                      "rate of mma.sync."
                    : "Have more tiles under way (stages), a warp that only copies, and larger tiles."};
}

constexpr ExampleFact kWaiting[] = {{"tensor_busy", 0.2}, {"tensor_instructions", 32}, {"stall_memory", 0.5}};
constexpr ExampleFact kFed[] = {{"tensor_busy", 0.8}, {"tensor_instructions", 32}, {"stall_memory", 0.1}};
constexpr ExampleFact kNone[] = {{"tensor_busy", 0}, {"tensor_instructions", 0}, {"stall_memory", 0.5}};
constexpr Example kFires[] = {{"loads and products in turn", kWaiting}};
constexpr Example kSilent[] = {{"a pipeline of four stages", kFed}, {"no products", kNone}};

}  // namespace

HONE_ROW(Rule){.name = "tensor_feed",
               .title = "tensor cores that wait",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"tensor_busy", Threshold::Side::kBelow, kEnough,
                             "Nsight Compute calls a unit busy from 60 % on (HighPipeUtilization, 2025.4)"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_tensor_feed
