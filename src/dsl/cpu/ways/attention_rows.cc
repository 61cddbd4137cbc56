#include "dsl/cpu/attend.h"
#include "dsl/cpu/attention_knobs.h"
#include "dsl/shape/pages.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_attention_rows {
namespace {

constexpr std::int64_t kFewQueries = 4;

std::optional<double> Cost(const Kernel& kernel) {
  if (kernel.space[kernel.space.size() - 4].extent <= kFewQueries) return 1;
  return std::nullopt;
}

constexpr Knob kKnobs[] = {kAttentionThreadsKnob, kVectorKnob, kAttentionKeysKnob};

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "rows",
    .doc = "one query at a time, for few of them",
    .why_not = CheckNoPages,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = EmitAttentionRows,
};

}  // namespace hone::dsl::cpu_way_attention_rows
