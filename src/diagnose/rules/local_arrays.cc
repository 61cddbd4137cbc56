// An array of a thread's own whose index is not known when compiling has to lie in memory: registers have no addresses.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_local_arrays {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency};
constexpr std::string_view kNeeds[] = {"local_share", "stack_bytes"};

std::optional<Found> Check(const Facts& facts) {
  return Found{
      .lost = std::min(0.9, 2 * facts["local_share"]),  // as of spills: an issue slot and a trip through L1
      .evidence = fmt::format("{:.1f} % of the instructions carried out read or write a thread's own memory, {:.0f} "
                              "bytes of it",
                              100 * facts["local_share"], facts["stack_bytes"]),
      .advice =
          "Index arrays by constants: unroll the loop over them whole, or select with conditions; what has to be "
          "looked up belongs in shared memory."};
}

constexpr ExampleFact kLookup[] = {{"local_share", 0.12}, {"stack_bytes", 128}};
constexpr ExampleFact kUnrolled[] = {{"local_share", 0}, {"stack_bytes", 0}};
constexpr Example kFires[] = {{"float v[32]; v[x % 32]", kLookup}};
constexpr Example kSilent[] = {{"the same with constant indices", kUnrolled}};

}  // namespace

HONE_ROW(Rule){.name = "local_arrays",
               .title = "arrays of a thread in memory",
               .scope = Scope::kLaunch,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"local_share", Threshold::Side::kAbove, 0.01,
                             "one in a hundred: an access takes some thirty times as long as a register; not measured"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_local_arrays
