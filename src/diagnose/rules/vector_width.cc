// A thread that moves 4 bytes at a time needs four times as many instructions, and has a quarter of the bytes on the
// way, as one that moves 16.
#include <fmt/format.h>

#include <cmath>

#include "diagnose/rule.h"

namespace hone::rule_vector_width {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"wide_access_share", "access_bytes"};
constexpr std::string_view kUses[] = {"bulk_copies", "loads_1",  "loads_2",  "loads_4",  "loads_8",   "loads_16",
                                      "stores_1",    "stores_2", "stores_4", "stores_8", "stores_16", "dram_busy"};
// A memory that is this busy does what a copy makes it do; what is left to it is all that wider accesses can bring.
constexpr double kFull = 0.9, kWorth = 0.02;

std::string Widths(const Facts& facts, const std::string& prefix) {
  std::string text;
  for (const int bytes : {1, 2, 4, 8, 16}) {
    const double count = facts.Maybe(prefix + std::to_string(bytes)).value_or(0);
    if (count > 0) text += fmt::format("{}{:.0f} of {}", text.empty() ? "" : ", ", count, bytes);
  }
  return text.empty() ? "none" : text;
}

// Another way is none of them: 15 such moves at 5 problems made products 25 to 240 % slower (one H200 each,
// 2026-11-23, docs/measured/tools.md).
constexpr RuleMove kMoves[] = {{"pack", "more"}, {"across", "more"}};
constexpr std::string_view kFamilies[] = {"conv", "map", "norm", "pool", "reduce", "scan", "softmax"};

std::optional<Found> Check(const Facts& facts) {
  if (facts.Maybe("bulk_copies").value_or(0) > 0) return std::nullopt;  // what counts goes through those
  const double bytes = facts["access_bytes"];
  // An eighth for each halving: an estimate, no measurement.
  const double lost = std::min({0.5, 0.125 * std::log2(16 / bytes), kFull - facts.Maybe("dram_busy").value_or(0)});
  if (lost < kWorth) return std::nullopt;
  return Found{.lost = lost,
               .evidence = fmt::format(
                   "{:.0f} % of the bytes go 16 at a time, {:.1f} on average (loads in the text: {}; stores: "
                   "{})",
                   100 * facts["wide_access_share"], bytes, Widths(facts, "loads_"), Widths(facts, "stores_")),
               .advice = "Let each thread move 16 bytes that lie together (float4, uint4), with the odd ends apart."};
}

constexpr ExampleFact kScalar[] = {{"wide_access_share", 0}, {"access_bytes", 4}, {"loads_4", 2}, {"stores_4", 1}};
constexpr ExampleFact kMixed[] = {{"wide_access_share", 0.6}, {"access_bytes", 8}, {"loads_16", 1}, {"stores_4", 4}};
constexpr ExampleFact kWide[] = {{"wide_access_share", 0.97}, {"access_bytes", 15.5}};
constexpr ExampleFact kCopied[] = {{"wide_access_share", 0}, {"access_bytes", 4}, {"bulk_copies", 8}};
constexpr ExampleFact kBusy[] = {{"wide_access_share", 0}, {"access_bytes", 4}, {"loads_4", 2}, {"dram_busy", 0.93}};
constexpr Example kFires[] = {{"one float a thread", kScalar}, {"wide loads, stores of one float", kMixed}};
constexpr Example kSilent[] = {{"float4 with a tail of floats", kWide},
                               {"tiles by TMA, a scalar epilogue", kCopied},
                               {"one float a thread at the speed of the memory", kBusy}};

}  // namespace

HONE_ROW(Rule){.name = "vector_width",
               .title = "narrow loads and stores",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"wide_access_share", Threshold::Side::kBelow, 0.8,
                             "a fifth leaves room for tails and small operands; not measured"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_vector_width
