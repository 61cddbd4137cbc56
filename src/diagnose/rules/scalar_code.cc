// The compiler made no vectors of a loop: one element at a time, where the processor computes many.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_scalar_code {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute, Bottleneck::kMemory, Bottleneck::kLatency,
                                   Bottleneck::kLaunch};
constexpr std::string_view kNeeds[] = {"scalar_share", "machine_vector_bytes"};
constexpr std::string_view kUses[] = {"loop_calls"};

constexpr RuleMove kMoves[] = {{"inner"}, {"along"}, {"vector"}, {"way"}};

std::optional<Found> Check(const Facts& facts) {
  constexpr double kFloat = 4;
  const double lanes = facts["machine_vector_bytes"] / kFloat, share = facts["scalar_share"];
  return Found{
      .lost = share * (1 - 1 / lanes) * 0.5,  // half: memory is often as slow
      .evidence =
          fmt::format("{:.0f} % of the arithmetic in its loops is of one real at a time; this processor computes "
                      "{:.0f} floats at once",
                      100 * share, lanes),
      .advice =
          facts.Maybe("loop_calls").value_or(0) > 0
              ? "A call in the loop keeps it from becoming one of vectors: inline it, or use a function of vectors."
              : "Let the innermost loop go over neighbours, promise that pointers do not overlap (__restrict__), and "
                "split sums into several: #pragma omp simd reduction."};
}

constexpr ExampleFact kSum[] = {{"scalar_share", 1}, {"machine_vector_bytes", 32}};
constexpr ExampleFact kCalls[] = {{"scalar_share", 0.95}, {"machine_vector_bytes", 64}, {"loop_calls", 2}};
constexpr ExampleFact kVectors[] = {{"scalar_share", 0.7}, {"machine_vector_bytes", 64}};
constexpr Example kFires[] = {{"a sum in one variable", kSum}, {"expf of each element", kCalls}};
constexpr Example kSilent[] = {{"vectors with a long scalar tail", kVectors}};

}  // namespace

HONE_ROW(Rule){.name = "scalar_code",
               .title = "loops without vectors",
               .scope = Scope::kFunction,
               .classes = kClasses,
               .needs = kNeeds,
               .uses = kUses,
               .threshold = {"scalar_share", Threshold::Side::kAbove, 0.9,
                             "the tail of a loop of vectors may be more of the text than the loop; not measured"},
               .moves = kMoves,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_scalar_code
