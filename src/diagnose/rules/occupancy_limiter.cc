// Few warps on a multiprocessor hide little of the time that memory takes. Not a fault of kernels that copy ahead by
// themselves: those of warpgroups are meant to be alone.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_occupancy_limiter {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kLatency, Bottleneck::kMemory};
constexpr std::string_view kNeeds[] = {"occupancy", "occupancy_limit", "resident_blocks", "block_threads", "waves"};
constexpr std::string_view kUses[] = {"registers",          "shared_bytes", "registers_to_gain", "shared_to_gain",
                                      "wgmma_instructions", "bulk_copies",  "stall_memory",      "stall_shared"};
constexpr double kHalf = 0.5, kStalled = 0.4;

constexpr RuleMove kMoves[] = {{"block"},           {"tile", "less"},   {"unroll", "less"}, {"pack", "less"},
                               {"results", "less"}, {"lanes", "more"},  {"down", "less"},   {"rows", "less"},
                               {"across", "less"},  {"stages", "less"}, {"ahead", "less"},  {"each", "less"}};

std::optional<Found> Check(const Facts& facts) {
  const std::string_view limit = facts.Word("occupancy_limit");
  if (limit == "warps" || facts["waves"] < 1) return std::nullopt;  // full, or too few blocks to fill it anyway
  if (facts.Maybe("wgmma_instructions").value_or(0) > 0 || facts.Maybe("bulk_copies").value_or(0) > 0)
    return std::nullopt;
  if (facts.Maybe("stall_memory").value_or(1) + facts.Maybe("stall_shared").value_or(0) < kStalled) return std::nullopt;
  std::string advice =
      fmt::format("Blocks of {:.0f} threads leave warps unused: take more threads a block.", facts["block_threads"]);
  std::vector<Move> moves = {{"block", ""}};
  if (limit == "registers" && facts.Maybe("registers_to_gain")) {
    advice = fmt::format(
        "With {:.0f} registers a thread in place of {:.0f} it holds one block more: a smaller tile, "
        "or a cap by __launch_bounds__({:.0f}, {:.0f}).",
        *facts.Maybe("registers_to_gain"), facts.Maybe("registers").value_or(0), facts["block_threads"],
        facts["resident_blocks"] + 1);
    moves = {{"tile", "less"}, {"unroll", "less"}, {"pack", "less"},   {"results", "less"}, {"lanes", "more"},
             {"down", "less"}, {"rows", "less"},   {"across", "less"}, {"each", "less"}};
  } else if (limit == "shared memory") {
    advice = facts.Maybe("shared_to_gain")
                 ? fmt::format(
                       "With {:.0f} bytes of shared memory a block in place of {:.0f} it holds one more: fewer "
                       "stages, or a smaller tile.",
                       *facts.Maybe("shared_to_gain"), facts.Maybe("shared_bytes").value_or(0))
                 : "Take less shared memory a block: fewer stages, or a smaller tile.";
    moves = {{"stages", "less"}, {"tile", "less"}, {"ahead", "less"}, {"pack", "less"}, {"each", "less"}};
  }
  return Found{
      // What warps hide is not in proportion to their number; a third of what is missing is an estimate.
      .lost = (kHalf - facts["occupancy"]) / kHalf / 3,
      .evidence = fmt::format("a multiprocessor holds {:.0f} block{} of {:.0f} threads, {:.0f} % of its warps, "
                              "limited by {}",
                              facts["resident_blocks"], facts["resident_blocks"] == 1 ? "" : "s",
                              facts["block_threads"], 100 * facts["occupancy"], limit),
      .advice = std::move(advice),
      .moves = std::move(moves)};
}

constexpr ExampleFact kRegisters[] = {{"occupancy", 0.25},
                                      {"occupancy_limit", 0, "registers"},
                                      {"resident_blocks", 2},
                                      {"block_threads", 256},
                                      {"waves", 8},
                                      {"registers", 128},
                                      {"registers_to_gain", 80}};
constexpr ExampleFact kShared[] = {{"occupancy", 0.125},
                                   {"occupancy_limit", 0, "shared memory"},
                                   {"resident_blocks", 2},
                                   {"block_threads", 128},
                                   {"waves", 8},
                                   {"shared_bytes", 100 << 10},
                                   {"shared_to_gain", 76800}};
constexpr ExampleFact kEnough[] = {{"occupancy", 0.5},
                                   {"occupancy_limit", 0, "registers"},
                                   {"resident_blocks", 4},
                                   {"block_threads", 256},
                                   {"waves", 8}};
constexpr ExampleFact kWarpgroups[] = {{"occupancy", 0.19},    {"occupancy_limit", 0, "shared memory"},
                                       {"resident_blocks", 1}, {"block_threads", 384},
                                       {"waves", 8},           {"wgmma_instructions", 16}};
constexpr ExampleFact kNotWaiting[] = {{"occupancy", 0.25},    {"occupancy_limit", 0, "registers"},
                                       {"resident_blocks", 2}, {"block_threads", 256},
                                       {"waves", 8},           {"stall_memory", 0.1}};
constexpr Example kFires[] = {{"128 registers a thread", kRegisters}, {"100 KiB of shared memory a block", kShared}};
constexpr Example kSilent[] = {{"half of the warps", kEnough},
                               {"a pipelined product of warpgroups", kWarpgroups},
                               {"few warps, but they do not wait for memory", kNotWaiting}};

}  // namespace

HONE_ROW(Rule){.name = "occupancy_limiter",
               .title = "few warps on a multiprocessor",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"occupancy", Threshold::Side::kBelow, kHalf,
                             "half of the warps hide most of the latency; not measured"},
               .moves = kMoves,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_occupancy_limiter
