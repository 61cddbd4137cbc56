#include "dsl/cpu/matmul_blocks.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/cpu/matmul_tile.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_scaled_matmul_tile {
namespace {

std::optional<double> Cost(const Kernel&) { return 2; }

constexpr Knob kKnobs[] = {kMatmulThreadsKnob, kVectorKnob, kPackedMicroKnob, kTileKnob, kPrepackKnob};

}  // namespace

HONE_ROW(Way){
    .family = "scaled_matmul",
    .name = "tile",
    .doc = "packed and register-blocked",
    .why_not = WhyNoBlocksOfProducts,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = EmitMatmulTile,
};

}  // namespace hone::dsl::cpu_way_scaled_matmul_tile
