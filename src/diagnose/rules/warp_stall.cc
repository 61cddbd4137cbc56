// Most warps stand at one instruction and wait for one thing: samples name both, and the source line.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"
#include "profile/sampled_facts.h"

namespace hone::rule_warp_stall {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kLatency, Bottleneck::kMemory, Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"top_stall", "top_stall_share", "hot_share", "hot_stall", "hot_place"};
constexpr std::string_view kUses[] = {"issue_busy", "dram_busy", "hot_for"};
constexpr double kIssued = 0.8;  // of the cycles: then waiting is hidden (Nsight Compute's rule CPIStall)
// Of the memory's peak: then what they wait for is under way as fast as it comes. Nsight Compute calls a unit busy from
// there on (HighPipeUtilization, 2025.4).
constexpr double kMemoryBusy = 0.6;
constexpr double kShort = 0.25;  // the share of it that a mend may bring: not measured

std::optional<Found> Check(const Facts& facts) {
  const double issued = facts.Maybe("issue_busy").value_or(0);
  if (issued > kIssued) return std::nullopt;
  const std::string_view reason = facts.Word("hot_stall"), producer = facts.Word("hot_for");
  if (reason == "long_scoreboard" && facts.Maybe("dram_busy").value_or(0) > kMemoryBusy) return std::nullopt;
  std::string advice =
      "Give the scheduler other work meanwhile: more warps, or what does not depend on it between the two.";
  if (reason == "long_scoreboard" || reason == "short_scoreboard") {
    advice = producer.empty() ? "Ask for its operands earlier: load the next round's before this one is used."
                              : fmt::format(
                                    "Ask earlier for what {} brings: load the next round's before this one is "
                                    "used, or several at once.",
                                    producer);
  } else if (reason == "barrier") {
    advice = "Give all warps of a block the same work before it, or hold two tiles in turn and do without it.";
  } else if (reason == "math_pipe_throttle") {
    advice = "Its unit is the limit: do less of it, by another unit, or wider.";
  } else if (reason == "lg_throttle" || reason == "mio_throttle") {
    advice = "Make fewer and wider accesses: the queue takes instructions, not bytes.";
  }
  return Found{.lost = std::min(0.5, facts["hot_share"] * (1 - issued) * 2 * kShort),
               .evidence = fmt::format("{:.0f} % of the samples wait for {}; the most at one place, {:.0f} %, at {}{}",
                                       100 * facts["top_stall_share"], WaitingFor(facts.Word("top_stall")),
                                       100 * facts["hot_share"], facts.Word("hot_place"),
                                       producer.empty() ? "" : fmt::format(", for {}", producer)),
               .advice = std::move(advice)};
}

constexpr ExampleFact kWaiting[] = {{"top_stall", 0, "long_scoreboard"},
                                    {"top_stall_share", 0.62},
                                    {"hot_share", 0.41},
                                    {"hot_stall", 0, "long_scoreboard"},
                                    {"hot_place", 0, "FADD of line 7"},
                                    {"hot_for", 0, "LDG.32 of line 7"},
                                    {"issue_busy", 0.1}};
constexpr ExampleFact kMany[] = {{"top_stall", 0, "barrier"},
                                 {"top_stall_share", 0.2},
                                 {"hot_share", 0.1},
                                 {"hot_stall", 0, "barrier"},
                                 {"hot_place", 0, "BAR of line 9"}};
constexpr ExampleFact kBusy[] = {
    {"top_stall", 0, "math_pipe_throttle"}, {"top_stall_share", 0.5},           {"hot_share", 0.2},
    {"hot_stall", 0, "math_pipe_throttle"}, {"hot_place", 0, "FFMA of line 7"}, {"issue_busy", 0.95}};
constexpr ExampleFact kStreaming[] = {{"top_stall", 0, "long_scoreboard"},
                                      {"top_stall_share", 0.89},
                                      {"hot_share", 0.89},
                                      {"hot_stall", 0, "long_scoreboard"},
                                      {"hot_place", 0, "FMNMX of line 7"},
                                      {"issue_busy", 0.07},
                                      {"dram_busy", 0.83}};
constexpr Example kFires[] = {{"a sum that waits for each of its loads", kWaiting}};
constexpr Example kSilent[] = {{"waiting for many things a little", kMany},
                               {"issuing all the time", kBusy},
                               {"a map at the speed of the memory", kStreaming}};

}  // namespace

HONE_ROW(Rule){.name = "warp_stall",
               .title = "warps that wait at one instruction",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"top_stall_share", Threshold::Side::kAbove, 0.3, "Nsight Compute's rule CPIStall"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_warp_stall
