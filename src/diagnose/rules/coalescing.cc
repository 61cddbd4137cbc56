// The threads of a warp touch addresses that do not lie together: each access fetches sectors of 32 bytes of which it
// uses a part.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"load_sector_bytes", "store_sector_bytes", "worst_sector_bytes"};
constexpr double kSector = 32;

constexpr RuleMove kMoves[] = {{"tile"}, {"layout"}};
constexpr std::string_view kFamilies[] = {"conv", "map"};

std::optional<Found> Check(const Facts& facts) {
  return Found{
      .lost = 1 - facts["worst_sector_bytes"] / kSector,
      .evidence = fmt::format("of each sector of 32 bytes loads use {:.1f}, stores {:.1f}", facts["load_sector_bytes"],
                              facts["store_sector_bytes"]),
      .advice =
          "Let neighbouring threads touch neighbouring addresses: swap the loops, or turn tiles in shared memory."};
}

constexpr ExampleFact kStrided[] = {{"load_sector_bytes", 4}, {"store_sector_bytes", 32}, {"worst_sector_bytes", 4}};
constexpr ExampleFact kTogether[] = {{"load_sector_bytes", 32}, {"store_sector_bytes", 31}, {"worst_sector_bytes", 31}};
constexpr Example kFires[] = {{"a transposition, element by element", kStrided}};
constexpr Example kSilent[] = {{"the same by tiles", kTogether}};

}  // namespace

HONE_RULE(coalescing){.name = "coalescing",
                      .title = "scattered accesses",
                      .scope = Scope::kLaunch,
                      .classes = kClasses,
                      .needs = kNeeds,
                      .threshold = {"worst_sector_bytes", Threshold::Side::kBelow, 26,
                                    "four fifths of a sector: ends of rows are allowed for; not measured"},
                      .moves = kMoves,
                      .families = kFamilies,
                      .check = Check,
                      .fires = kFires,
                      .silent = kSilent};

}  // namespace hone
