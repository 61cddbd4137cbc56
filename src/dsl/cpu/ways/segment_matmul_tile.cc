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

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  EmitMatmulTile(program, kernel, writer, PanelUnit::kNumber);
}

}  // namespace

HONE_ROW(Way){
    .family = "segment_matmul",
    .name = "tile",
    .doc = "packed and register-blocked, each segment by itself",
    .why_not = WhyNot,
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_segment_matmul_tile
