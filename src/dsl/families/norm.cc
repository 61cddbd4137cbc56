// norm(EXPR) over [AXES] let ... -> EXPR: statistics over axes, then every element with them. Layer, RMS, group,
// instance and batch normalisation, L1 and L2 normalisation are all this. Lets that do not need each other are folded
// in one pass; one that needs an earlier one (a variance its mean) is a second pass over a row that sits in cache:
// exact, and nearly free.
#include <algorithm>

#include "dsl/cpu/folds.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/family.h"
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

// The pass in which each let can be folded, from 0.
std::vector<int> Levels(const Kernel& kernel) {
  std::vector<int> levels(kernel.lets.size(), 0);
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const auto raise = [&](const Expr& expr, int by) {
      Visit(expr, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad || node.buffer > kLetOperand) return;
        levels[i] = std::max(levels[i], levels[static_cast<std::size_t>(kLetOperand - node.buffer)] + by);
      });
    };
    raise(kernel.lets[i].body, 1);
    raise(kernel.lets[i].finish, 0);
  }
  return levels;
}

std::vector<FoldPass> Passes(const Kernel& kernel) {
  const std::vector<int> levels = Levels(kernel);
  std::vector<FoldPass> passes(static_cast<std::size_t>(*std::max_element(levels.begin(), levels.end())) + 1);
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const KernelLet& let = kernel.lets[i];
    passes[static_cast<std::size_t>(levels[i])].items.push_back(
        {.let = static_cast<int>(i), .fold = let.fold, .body = let.body, .finish = let.finish, .name = let.name});
  }
  return passes;
}

void EmitCpu(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  EmitFolds(program, kernel, writer, Passes(kernel), kernel.epilogue);
}

void EmitCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  EmitFoldsCuda(program, kernel, writer, Passes(kernel), kernel.epilogue);
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
