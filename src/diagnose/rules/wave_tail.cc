// The blocks do not fill the device to the end: multiprocessors stand idle while the last ones are at work.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/rule.h"

namespace hone::rule_wave_tail {
namespace {

// Not where launches are most of it: finer cuts of what is over before all have begun bring nothing.
constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"tail_share", "waves", "blocks", "multiprocessors", "resident_blocks"};
constexpr std::string_view kUses[] = {"idle_share"};
constexpr double kTail = 1.0 / 6;
// What is left of a tail that is reckoned and not counted: blocks even out, and the next kernel begins meanwhile. 84
// moves in searches at 12 problems promised 12.7 % of the time and brought none (one H200 each, 2026-11-23,
// docs/measured/tools.md).
constexpr double kReckoned = 0.25;

constexpr RuleMove kMoves[] = {{"split"},           {"tile"},          {"block"},         {"split", "more"},
                               {"tile", "less"},    {"block", "less"}, {"lanes", "more"}, {"unroll", "less"},
                               {"results", "less"}, {"down", "less"},  {"rows", "less"},  {"across", "less"},
                               {"pack", "less"},    {"team", "more"},  {"each", "less"}};

std::optional<Found> Check(const Facts& facts) {
  const double waves = facts["waves"], blocks = facts["blocks"], processors = facts["multiprocessors"];
  const double idle_at_most = facts.Maybe("idle_share").value_or(1);  // as it was counted
  if (idle_at_most < kTail / 4) return std::nullopt;
  const double believed = facts.Maybe("idle_share") ? 1 : kReckoned;
  if (waves >= 1) {
    return Found{
        .lost = believed * std::min(facts["tail_share"], idle_at_most),
        .evidence = fmt::format("{:.0f} blocks are {:.2f} waves of {:.0f}: {:.0f} % of the time of {:.0f} "
                                "waves is idle",
                                blocks, waves, facts["resident_blocks"] * processors, 100 * facts["tail_share"],
                                std::ceil(waves)),
        .advice = fmt::format("Choose tiles that make a multiple of {:.0f} blocks, or as many blocks as fit at "
                              "once, each going over several tiles.",
                              facts["resident_blocks"] * processors),
        .moves = {{{"tile", ""}, {"split", ""}, {"block", ""}}}};
  }
  // All at once: the multiprocessor with the most blocks is done last.
  const double each = std::ceil(blocks / processors), idle = 1 - blocks / processors / each;
  if (idle <= kTail) return std::nullopt;
  return Found{.lost = believed * std::min(idle, idle_at_most),
               .evidence = blocks < processors
                               ? fmt::format("{:.0f} blocks keep {:.0f} of {:.0f} multiprocessors busy", blocks, blocks,
                                             processors)
                               : fmt::format("{:.0f} blocks on {:.0f} multiprocessors: some have {:.0f}, others {:.0f}",
                                             blocks, processors, each, std::floor(blocks / processors)),
               .advice = fmt::format("Cut the work finer: smaller tiles, or parts of the sum in blocks of their own, "
                                     "until there are {:.0f} blocks or a multiple.",
                                     processors),
               .moves = {{{"split", "more"},
                          {"tile", "less"},
                          {"block", "less"},
                          {"lanes", "more"},
                          {"unroll", "less"},
                          {"results", "less"},
                          {"down", "less"},
                          {"rows", "less"},
                          {"across", "less"},
                          {"pack", "less"},
                          {"team", "more"},
                          {"each", "less"}}}};
}

constexpr ExampleFact kFew[] = {
    {"tail_share", 0.97}, {"waves", 0.03}, {"blocks", 32}, {"multiprocessors", 132}, {"resident_blocks", 8}};
constexpr ExampleFact kOneTooMany[] = {
    {"tail_share", 0.49}, {"waves", 1.0076}, {"blocks", 133}, {"multiprocessors", 132}, {"resident_blocks", 1}};
constexpr ExampleFact kUneven[] = {
    {"tail_share", 0.87}, {"waves", 0.126}, {"blocks", 133}, {"multiprocessors", 132}, {"resident_blocks", 8}};
constexpr ExampleFact kMany[] = {
    {"tail_share", 0.03}, {"waves", 31.03}, {"blocks", 32768}, {"multiprocessors", 132}, {"resident_blocks", 8}};
constexpr ExampleFact kPersistent[] = {
    {"tail_share", 0.5}, {"waves", 0.5}, {"blocks", 132}, {"multiprocessors", 132}, {"resident_blocks", 2}};
constexpr ExampleFact kEven[] = {{"tail_share", 0.35},     {"waves", 1.29},         {"blocks", 2048},
                                 {"multiprocessors", 132}, {"resident_blocks", 12}, {"idle_share", 0.02}};
constexpr Example kFires[] = {{"32 blocks on 132 multiprocessors", kFew},
                              {"one block more than a wave", kOneTooMany},
                              {"one multiprocessor with two blocks", kUneven}};
constexpr Example kSilent[] = {{"31 waves", kMany},
                               {"one block a multiprocessor, where two would fit", kPersistent},
                               {"blocks that even out: counted", kEven}};

}  // namespace

HONE_ROW(Rule){.name = "wave_tail",
               .title = "multiprocessors idle at the end",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"tail_share", Threshold::Side::kAbove, kTail,
                             "a last wave that makes all of them 20 % longer: the trigger of Nsight Compute's "
                             "LaunchConfiguration (2025.4)"},
               .moves = kMoves,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_wave_tail
