// The threads of a warp touch addresses that do not lie together: each access fetches sectors of 32 bytes of which it
// uses a part.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "diagnose/rule.h"

namespace hone::rule_coalescing {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"worst_sector_bytes"};
constexpr std::string_view kUses[] = {"load_sector_bytes", "store_sector_bytes", "load_share", "bulk_copies"};
constexpr double kSector = 32;
constexpr double kWorth = 0.05;  // of the sectors; below it nobody would see the mend

std::string InWords(std::optional<double> bytes) { return bytes ? fmt::format("{:.1f}", *bytes) : "none"; }

// Of all sectors that the kernel touches, those that it would not if each were used whole. How much it loads and how
// much it stores is read from its text.
double Wasted(std::optional<double> load, std::optional<double> store, double load_share) {
  const double loads = load ? load_share / *load : 0, stores = store ? (1 - load_share) / *store : 0;
  const double least = (load ? load_share : 0) / kSector + (store ? 1 - load_share : 0) / kSector;
  return loads + stores > 0 ? 1 - least / (loads + stores) : 0;
}

constexpr RuleMove kMoves[] = {{"tile"}, {"layout"}};
constexpr std::string_view kFamilies[] = {"conv", "map"};

std::optional<Found> Check(const Facts& facts) {
  // Copies that run on by themselves are in no counter of sectors. What is counted beside them are weights that all
  // threads read at one address, 4 bytes of a sector, and ends of products: 758 us of 4299 were promised so of a group
  // norm and 67 of 290 of a depthwise convolution (H200, 2026-11-23, docs/measured/findings.md).
  if (facts.Maybe("bulk_copies").value_or(0) > 0) return std::nullopt;
  const auto load = facts.Maybe("load_sector_bytes"), store = facts.Maybe("store_sector_bytes");
  const double lost = Wasted(load, store, facts.Maybe("load_share").value_or(0.5));
  if (lost < kWorth) return std::nullopt;
  return Found{
      .lost = lost,
      .evidence = fmt::format("of each sector of 32 bytes loads use {}, stores {}", InWords(load), InWords(store)),
      .advice =
          "Let neighbouring threads touch neighbouring addresses: swap the loops, or turn tiles in shared memory."};
}

constexpr ExampleFact kStrided[] = {{"load_sector_bytes", 4}, {"store_sector_bytes", 32}, {"worst_sector_bytes", 4}};
constexpr ExampleFact kTogether[] = {{"load_sector_bytes", 32}, {"store_sector_bytes", 31}, {"worst_sector_bytes", 31}};
constexpr ExampleFact kHidden[] = {
    {"store_sector_bytes", 8}, {"worst_sector_bytes", 8}, {"load_sector_bytes", 32}, {"load_share", 0.999}};
constexpr ExampleFact kWeights[] = {
    {"load_sector_bytes", 4}, {"store_sector_bytes", 32}, {"worst_sector_bytes", 4}, {"bulk_copies", 6}};
constexpr Example kFires[] = {{"a transposition, element by element", kStrided}};
constexpr Example kSilent[] = {{"the same by tiles", kTogether},
                               {"a product that stores rarely", kHidden},
                               {"rows by cp.async, weights by loads", kWeights}};

}  // namespace

HONE_ROW(Rule){.name = "coalescing",
               .title = "scattered accesses",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"worst_sector_bytes", Threshold::Side::kBelow, 26,
                             "four fifths of a sector: ends of rows are allowed for; not measured"},
               .moves = kMoves,
               .families = kFamilies,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_coalescing
