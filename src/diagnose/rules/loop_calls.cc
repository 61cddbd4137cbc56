// A function is called for each element: expf, powf and the like take tens of cycles, and one at a time.
#include <fmt/format.h>

#include <algorithm>

#include "diagnose/rule.h"

namespace hone::rule_loop_calls {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency,
                                   Bottleneck::kLaunch};
constexpr std::string_view kNeeds[] = {"loop_calls", "scalar_share"};

std::optional<Found> Check(const Facts& facts) {
  if (facts["scalar_share"] < 0.9) return std::nullopt;  // called beside loops of vectors, not in them
  return Found{
      .lost = 0.6,  // a function of vectors is several times as fast; an estimate
      .evidence = fmt::format("{:.0f} call{} in loops whose arithmetic is {:.0f} % scalar", facts["loop_calls"],
                              facts["loop_calls"] == 1 ? "" : "s", 100 * facts["scalar_share"]),
      .advice =
          "Write the function as a polynomial that the compiler can make vectors of, or let it use those of the C "
          "library: -ffast-math with #pragma omp simd."};
}

constexpr ExampleFact kExp[] = {{"loop_calls", 1}, {"scalar_share", 1}};
constexpr ExampleFact kNone[] = {{"loop_calls", 0}, {"scalar_share", 1}};
constexpr ExampleFact kBarrier[] = {{"loop_calls", 1}, {"scalar_share", 0.02}};
constexpr Example kFires[] = {{"expf of each element", kExp}};
constexpr Example kSilent[] = {{"a sum", kNone}, {"a barrier between loops of vectors", kBarrier}};

}  // namespace

HONE_ROW(Rule){.name = "loop_calls",
               .title = "a call for each element",
               .scope = Scope::kFunction,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"loop_calls", Threshold::Side::kAbove, 0, "one is enough to keep a loop from vectors"},
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_loop_calls
