#include "base/check.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/shape/reduction.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_reduce {
namespace {

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  if (IntSetting(kernel, "lanes") == 1 && !FindsPlace(kernel) && kernel.lets.empty()) {
    Kernel nest = AsNest(kernel);
    nest.family = FindFamily("nest");
    nest.settings.clear();  // the fold's: a nest has others by the same names
    HONE_CHECK(!ChooseWay(nest), "a nest runs on every device");
    FillSettings(nest);
    return nest.way->emit_cuda(program, nest, writer);
  }
  Reduction one = ReductionOf(kernel);
  if (FindsPlace(kernel)) {
    one.item.fold = kernel.variant == "argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin;
    one.item.finish = Value(kIt, ScalarType::kInt);
  }
  EmitFoldsCuda(program, kernel, writer, ReductionPasses(kernel, one), one.result);
}

}  // namespace

HONE_ROW(Way){
    .family = "reduce",
    .knobs = kFoldKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_reduce
