#include "dsl/cpu/matmul_emitter.h"
#include "dsl/cpu/matmul_pairs.h"
#include "dsl/cpu/matmul_tile.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_grouped_matmul_pairs {
namespace {

std::optional<double> Cost(const Kernel& kernel) { return PairsCost(kernel); }

constexpr Knob kKnobs[] = {kMatmulThreadsKnob, kVectorKnob, kPairsMicroKnob, kTileKnob, kPrepackKnob};

}  // namespace

HONE_ROW(Way){
    .family = "grouped_matmul",
    .name = "pairs",
    .doc = kPairsDoc,
    .why_not = WhyNoPairs,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = EmitMatmulPairs,
};

}  // namespace hone::dsl::cpu_way_grouped_matmul_pairs
