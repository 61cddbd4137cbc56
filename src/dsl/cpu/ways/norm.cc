// Lets that do not need each other are folded in one pass; one that needs an earlier one (a variance its mean) is a
// second pass over a row that sits in cache: exact, and nearly free.
#include "dsl/cpu/folds.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_norm {
namespace {

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  EmitFolds(program, kernel, writer, LetPasses(kernel), kernel.epilogue);
}

constexpr Knob kKnobs[] = {kThreadsKnob, kVectorKnob, kFoldPrefetchKnob, kAccumulatorsKnob, kColumnsKnob, kSplitKnob};

}  // namespace

HONE_ROW(Way){
    .family = "norm",
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_norm
