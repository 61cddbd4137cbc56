#include "dsl/cpu/matmul_blocks.h"
#include "dsl/cpu/matmul_emitter.h"
#include "dsl/cpu/matmul_tile.h"
#include "dsl/knobs.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_segment_matmul_tile {
namespace {

std::optional<std::string> WhyNot(const Kernel& kernel) {
  if (kernel.space[1].extent == 1) return "A has one row: write it as a nest";
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kMatmulThreadsKnob, kVectorKnob, kPackedMicroKnob, kTileKnob, kPrepackKnob};

}  // namespace

HONE_ROW(Way){
    .family = "segment_matmul",
    .name = "tile",
    .doc = "packed and register-blocked, each segment by itself",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cpu = EmitMatmulTile,
};

}  // namespace hone::dsl::cpu_way_segment_matmul_tile
