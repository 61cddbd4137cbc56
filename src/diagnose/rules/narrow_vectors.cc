// Vectors of half the width that the processor has.
#include <fmt/format.h>

#include "diagnose/rule.h"

namespace hone::rule_narrow_vectors {
namespace {

constexpr Bottleneck kClasses[] = {Bottleneck::kCompute};
constexpr std::string_view kNeeds[] = {"vector_bytes", "machine_vector_bytes", "vector_width_share"};

constexpr RuleMove kMoves[] = {{"vector", "more"}};

std::optional<Found> Check(const Facts& facts) {
  return Found{.lost = (1 - facts["vector_width_share"]) / 2,  // half: wide vectors may lower the clock
               .evidence = fmt::format("its vectors have {:.0f} bytes on average, the processor's {:.0f}",
                                       facts["vector_bytes"], facts["machine_vector_bytes"]),
               .advice = "Compile with -mprefer-vector-width=512, or use vector types of that width."};
}

constexpr ExampleFact kHalf[] = {{"vector_bytes", 32}, {"machine_vector_bytes", 64}, {"vector_width_share", 0.5}};
constexpr ExampleFact kFull[] = {{"vector_bytes", 62}, {"machine_vector_bytes", 64}, {"vector_width_share", 0.97}};
constexpr Example kFires[] = {{"256 bits of 512", kHalf}};
constexpr Example kSilent[] = {{"512 bits", kFull}};

}  // namespace

HONE_ROW(Rule){.name = "narrow_vectors",
               .title = "vectors narrower than the processor's",
               .scope = Scope::kFunction,
               .classes = kClasses,
               .needs = kNeeds,
               .threshold = {"vector_width_share", Threshold::Side::kBelow, 0.75, "between half and whole"},
               .moves = kMoves,
               .check = Check,
               .fires = kFires,
               .silent = kSilent};

}  // namespace hone::rule_narrow_vectors
