#include "dsl/cpu/pooling.h"
#include "dsl/knobs.h"
#include "dsl/shape/window.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_pool {
namespace {

std::vector<Setting> PoolThreads(const Kernel& kernel) { return ThreadsFor(kernel, 16 * kernel.family->flops(kernel)); }

constexpr Knob kKnobs[] = {
    {"threads", "how many threads share the work, 0 = all that the caller allows", PoolThreads, CheckThreads},
    kVectorKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "pool",
    .knobs = kKnobs,
    .emit_cpu = EmitPooling,
};

}  // namespace hone::dsl::cpu_way_pool
