#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/shape/fold_pass.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_norm {
namespace {

void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  EmitFoldsCuda(program, kernel, writer, LetPasses(kernel), kernel.epilogue);
}

}  // namespace

HONE_ROW(Way){
    .family = "norm",
    .knobs = kFoldKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_norm
