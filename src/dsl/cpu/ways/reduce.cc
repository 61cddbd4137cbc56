#include "dsl/cpu/folds.h"
#include "dsl/cpu/nest.h"
#include "dsl/knobs.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/shape/reduction.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_reduce {
namespace {

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  if (FindsPlace(kernel)) {
    Kernel nest = AsNest(kernel);
    nest.settings["inner"] = Word(FoldsRows(kernel) ? "fold" : "result");
    nest.settings["block"] = Whole(64);
    return EmitNest(program, nest, writer);
  }
  const Reduction one = ReductionOf(kernel);
  EmitFolds(program, kernel, writer, ReductionPasses(kernel, one), one.result);
}

// Chunks of a row tell each other once what they folded.
std::vector<Setting> SplitValues(const Kernel& kernel) {
  return LetPasses(kernel).size() > 1 ? std::vector{Whole(1)} : kSplitKnob.values(kernel);
}
std::optional<std::string> CheckSplit(const Kernel& kernel, const Setting& value) {
  if (LetPasses(kernel).size() > 1 && value != Whole(1))
    return "lets that need other lets are folded in one piece; try 1";
  return kSplitKnob.check(kernel, value);
}

constexpr Knob kKnobs[] = {kThreadsKnob,
                           kVectorKnob,
                           kAccumulatorsKnob,
                           kColumnsKnob,
                           {kSplitKnob.name, kSplitKnob.doc, SplitValues, CheckSplit}};

}  // namespace

HONE_ROW(Way){
    .family = "reduce",
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_reduce
