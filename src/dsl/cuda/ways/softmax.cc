#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/way.h"

namespace hone::dsl::cuda_way_softmax {
namespace {

// Maximum, sum, scale: the row stays in registers where it fits.
void Emit(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  const Expr x = Cast(kernel.inputs[0], ScalarType::kReal);
  const Expr it = Value(kIt, ScalarType::kReal);
  const Expr top = Value(LetValue(0), ScalarType::kReal), second = Value(LetValue(1), ScalarType::kReal);
  const bool log = kernel.variant == "log";
  const Expr power = Exp(x - top);
  const FoldPass::Item max{.let = 0, .fold = ReduceOp::kMax, .body = x, .finish = it, .name = "top"};
  const FoldPass::Item sum{.let = 1,
                           .fold = ReduceOp::kSum,
                           .body = power,
                           .finish = log ? Log(it) : Expr(1.0) / it,
                           .name = log ? "log_sum" : "scale"};
  const Expr value = log ? x - top - second : power * second;
  const Expr result = ReplaceValue(kernel.epilogue, kIt, value);
  EmitFoldsCuda(program, kernel, writer, {{.items = {max}, .keep = {}}, {.items = {sum}, .keep = {}}}, result);
}

}  // namespace

HONE_ROW(Way){
    .family = "softmax",
    .knobs = kFoldKnobs,
    .emit_cuda = Emit,
};

}  // namespace hone::dsl::cuda_way_softmax
