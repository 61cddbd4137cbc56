// norm(EXPR) over [AXES] let ... -> EXPR: statistics over axes, then every element with them. Layer, RMS, group,
// instance and batch normalisation, L1 and L2 normalisation are all this. Lets that do not need each other are folded
// in one pass; one that needs an earlier one (a variance its mean) is a second pass over a row that sits in cache:
// exact, and nearly free.
#include "dsl/cpu/folds.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/family.h"
#include "dsl/fold_pass.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

double Flops(const Kernel& kernel) {
  double operations = OperationsPerElement(kernel.epilogue);
  for (const auto& let : kernel.lets) operations += 1 + OperationsPerElement(let.body);
  return SpaceCount(kernel) * operations;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  if (kernel.lets.empty()) return "a norm without lets is a map: add 'let NAME = sum(...)', or use map";
  return std::nullopt;
}

void EmitCpu(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  EmitFolds(program, kernel, writer, LetPasses(kernel), kernel.epilogue);
}

void EmitCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  EmitFoldsCuda(program, kernel, writer, LetPasses(kernel), kernel.epilogue);
}

constexpr Knob kKnobs[] = {kThreadsKnob, kVectorKnob, kFoldPrefetchKnob, kAccumulatorsKnob, kColumnsKnob, kSplitKnob};

}  // namespace

HONE_FAMILY(norm){
    .name = "norm",
    .doc = "Statistics over axes (lets), then every element computed with them; 'it' is the operand.",
    .grammar = "norm(EXPR) over [AXES] let NAME = EXPR with one sum|prod|mean|max_over|min_over ... -> EXPR",
    .variants = {},
    .operands = 1,
    .takes_axes = true,
    .takes_lets = true,
    .keeps_axes = true,
    .knobs = kKnobs,
    .check = Check,
    .flops = Flops,
    .emit_cpu = EmitCpu,
    .emit_cuda = EmitCuda,
    .cuda_knobs = FoldKnobsCuda,
};

}  // namespace hone::dsl
