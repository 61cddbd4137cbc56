// Registers did not suffice: values go to a thread's own memory and come back. Each costs an issue slot and a trip
// through the L1 cache, which is taken as as much again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "diagnose/rule.h"

namespace hone::rule_spills {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"spill_share", "spill_store_bytes", "spill_load_bytes", "registers"};
constexpr std::string_view kUses[] = {"max_threads"};

constexpr RuleMove kMoves[] = {{"tile", "less"},  {"unroll", "less"}, {"pack", "less"}, {"results", "less"},
                               {"lanes", "more"}, {"down", "less"},   {"rows", "less"}, {"across", "less"},
                               {"warps", "less"}, {"depth", "less"},  {"each", "less"}};

std::optional<Found> Check(const Facts& facts) {
  constexpr int kMostRegisters = 255, kOfMultiprocessor = 64 << 10;
  std::string advice = "Keep fewer values alive at once: a smaller tile, less unrolling, or a loop cut in two.";
  const double threads = facts.Maybe("max_threads").value_or(0), registers = facts["registers"];
  if (registers < kMostRegisters - 7) {
    advice += threads > 0 && registers >= std::floor(kOfMultiprocessor / threads / 8) * 8
                  ? fmt::format(" __launch_bounds__({:.0f}) leaves {:.0f} registers a thread: ask for fewer threads.",
                                threads, registers)
                  : fmt::format(
                        " The compiler was held to {:.0f} registers: take back the cap (the second argument "
                        "of __launch_bounds__, or --maxrregcount).",
                        registers);
  }
  return Found{.lost = std::min(0.9, 2 * facts["spill_share"]),
               .evidence = fmt::format("{:.0f} bytes are stored and {:.0f} loaded by spills, with {:.0f} registers a "
                                       "thread; {:.1f} % of the instructions carried out",
                                       facts["spill_store_bytes"], facts["spill_load_bytes"], registers,
                                       100 * facts["spill_share"]),
               .advice = std::move(advice)};
}

constexpr ExampleFact kCapped[] = {
    {"spill_share", 0.09}, {"spill_store_bytes", 400}, {"spill_load_bytes", 640}, {"registers", 32}};
constexpr ExampleFact kLarge[] = {
    {"spill_share", 0.3}, {"spill_store_bytes", 17752}, {"spill_load_bytes", 33544}, {"registers", 255}};
constexpr ExampleFact kNone[] = {
    {"spill_share", 0}, {"spill_store_bytes", 0}, {"spill_load_bytes", 0}, {"registers", 255}};
constexpr Example kFires[] = {{"64 values alive in 32 registers", kCapped}, {"a tile that outgrows the file", kLarge}};
constexpr Example kSilent[] = {{"all 255 registers used, none spilled", kNone}};

}  // namespace

HONE_ROW(Rule){
    .name = "spills",
    .title = "registers spilled to memory",
    .scope = Scope::kLaunch,
    .classes = kClasses,
    .needs = kNeeds,
    .uses = kUses,
    .threshold = {"spill_share", Threshold::Side::kAbove, 0, "none is best: ptxas spills only what does not fit"},
    .moves = kMoves,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_spills
