// A memory that answers after a while is busy only if enough is asked of it meanwhile (Little's law): bandwidth times
// latency, shared out to the multiprocessors.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_loads_in_flight {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"loads_in_flight", "bytes_in_flight", "load_share",     "resident_blocks",
                                       "block_threads",   "bandwidth",       "multiprocessors"};
constexpr std::string_view kUses[] = {"bulk_copies", "stall_memory"};
constexpr double kLatency = 0.7e-6;  // seconds; what is said of Hopper's memory under load. Not measured by us
constexpr double kStalled = 0.3;

constexpr RuleMove kMoves[] = {{"unroll", "more"}, {"stages", "more"},  {"ahead", "more"},
                               {"pack", "more"},   {"results", "more"}, {"down", "more"},
                               {"across", "more"}, {"split", "more"},   {"each", "more"}};

std::optional<Found> Check(const Facts& facts) {
  if (facts.Maybe("bulk_copies").value_or(0) > 0 || facts.Maybe("stall_memory").value_or(1) < kStalled)
    return std::nullopt;
  const double need = facts["bandwidth"] * facts["load_share"] * kLatency / facts["multiprocessors"];
  const double have = facts["bytes_in_flight"] * facts["resident_blocks"] * facts["block_threads"];
  if (have >= need) return std::nullopt;
  return Found{
      .lost = (1 - have / need) / 2,  // half: blocks that come and go ask meanwhile
      .evidence =
          fmt::format("a thread has {:.0f} load{} of {:.0f} bytes together under way before it waits: {:.1f} KB a "
                      "multiprocessor, where {:.1f} KB keep the memory busy",
                      facts["loads_in_flight"], facts["loads_in_flight"] == 1 ? "" : "s", facts["bytes_in_flight"],
                      have / 1e3, need / 1e3),
      .advice =
          "Ask for more before the first use: unroll the loop, load the next tile before this one is used, or copy "
          "ahead into shared memory (cp.async, TMA)."};
}

constexpr ExampleFact kChain[] = {{"loads_in_flight", 1},  {"bytes_in_flight", 4}, {"load_share", 1},
                                  {"resident_blocks", 4},  {"block_threads", 256}, {"bandwidth", 4.8e12},
                                  {"multiprocessors", 132}};
constexpr ExampleFact kUnrolled[] = {{"loads_in_flight", 3},  {"bytes_in_flight", 48}, {"load_share", 1},
                                     {"resident_blocks", 8},  {"block_threads", 256},  {"bandwidth", 4.8e12},
                                     {"multiprocessors", 132}};
constexpr ExampleFact kEight[] = {{"loads_in_flight", 8},  {"bytes_in_flight", 32}, {"load_share", 1},
                                  {"resident_blocks", 4},  {"block_threads", 256},  {"bandwidth", 4.8e12},
                                  {"multiprocessors", 132}};
constexpr Example kFires[] = {{"one float after the other", kChain}};
constexpr Example kSilent[] = {{"three float4 at once", kUnrolled}, {"eight floats at once", kEight}};

}  // namespace

HONE_ROW(Rule){
    .name = "loads_in_flight",
    .title = "too few loads under way",
    .scope = Scope::kLaunch,
    .classes = kClasses,
    .needs = kNeeds,
    .uses = kUses,
    .threshold = {"loads_in_flight", Threshold::Side::kBelow, 4,
                  "four of 4 bytes in 2048 threads are more than an H200's memory needs at 0.7 us; not measured"},
    .moves = kMoves,
    .check = Check,
    .fires = kFires,
    .silent = kSilent};

}  // namespace hone::rule_loads_in_flight
