#include "dsl/cpu/matmul_emitter.h"
#include "dsl/cpu/matmul_pairs.h"
#include "dsl/cpu/matmul_tile.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_scaled_matmul_pairs {
namespace {

// Few rows take as long as panels to be read, which are half as large as those of numbers.
std::optional<double> Cost(const Kernel& kernel) {
  return MatmulShape(kernel).m.extent <= kFewRows ? 1.2 : PairsCost(kernel);
}

constexpr Knob kKnobs[] = {
    kMatmulThreadsKnob, kVectorKnob, kPairsMicroKnob, kTileKnob, kPrepackKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "scaled_matmul",
    .name = "pairs",
    .doc = kPairsDoc,
    .why_not = WhyNoPairs,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = EmitMatmulPairs,
};

}  // namespace hone::dsl::cpu_way_scaled_matmul_pairs
