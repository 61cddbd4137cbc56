// reduce sum|prod|mean|max|min|argmax|argmin(EXPR) over [AXES]: one value a row, a column or the whole.
#include <fmt/format.h>

#include "dsl/cpu/folds.h"
#include "dsl/cpu/nest.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/cuda/nest.h"
#include "dsl/family.h"
#include "dsl/fold_pass.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kVariants[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin"};

bool IsPlace(const Kernel& kernel) { return kernel.variant == "argmax" || kernel.variant == "argmin"; }

double Flops(const Kernel& kernel) {
  double operations = 1 + OperationsPerElement(kernel.inputs[0]);
  for (const auto& let : kernel.lets) operations += 1 + OperationsPerElement(let.body);
  return SpaceCount(kernel) * operations;
}

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  if (IsPlace(kernel) && !kernel.lets.empty()) return fmt::format("'{}' takes no lets", kernel.variant);
  for (const auto& index : kernel.space) {
    if (index.extent == 0 && (kernel.variant == "max" || kernel.variant == "min" || IsPlace(kernel)))
      return "there is no largest of nothing: an extent is 0";
  }
  return std::nullopt;
}

// Bools are counted.
ScalarType Type(const Kernel& kernel) {
  if (kernel.variant == "mean") return ScalarType::kReal;
  if (IsPlace(kernel)) return ScalarType::kInt;
  const ScalarType type = kernel.inputs[0]->type;
  return type == ScalarType::kBool ? ScalarType::kInt : type;
}

struct OneFold {
  FoldPass::Item item;
  Expr result;
};
OneFold FoldOf(const Kernel& kernel) {
  OneFold one;
  FoldPass::Item& item = one.item;
  item.let = static_cast<int>(kernel.lets.size());
  item.fold = FoldOfVariant(kernel.variant);
  item.body = kernel.inputs[0];
  if (item.body->type == ScalarType::kBool) item.body = Cast(item.body, ScalarType::kInt);
  const Expr it = Load(kItOperand, {}, item.body->type);
  double count = 1;
  for (const int axis : kernel.axes) count *= static_cast<double>(kernel.space[static_cast<std::size_t>(axis)].extent);
  item.finish = kernel.variant == "mean" ? it / count : it;
  item.name = kernel.variant;
  // What a let folds in the same way is folded once.
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const KernelLet& let = kernel.lets[i];
    if (let.fold == item.fold && SameExpr(let.body, item.body) && SameExpr(let.finish, item.finish))
      item.let = static_cast<int>(i);
  }
  // The epilogue's `it` is the finished value.
  one.result = ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) {
    return load.buffer == kItOperand ? Load(kLetOperand - item.let, {}, load.type) : Expr();
  });
  return one;
}

// With the lets: beside those that need no other.
std::vector<FoldPass> PassesOf(const Kernel& kernel, const OneFold& one) {
  std::vector<FoldPass> passes = LetPasses(kernel);
  if (passes.empty()) passes.emplace_back();
  if (one.item.let == static_cast<int>(kernel.lets.size())) passes[0].items.push_back(one.item);
  return passes;
}

// The same as a nest.
Kernel AsNest(const Kernel& kernel) {
  Kernel nest = kernel;
  std::vector<IndexVar> over;
  nest.space.clear();
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    const bool folded = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d));
    (folded ? over : nest.space).push_back(kernel.space[d]);
  }
  for (auto& operand : nest.operands) {
    for (const auto& index : kernel.space) operand.extents.push_back(index.extent);
  }
  Expr folded;
  if (IsPlace(kernel)) {
    folded = Reduce(kernel.variant == "argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin, over, kernel.inputs[0]);
  } else {
    const OneFold one = FoldOf(kernel);
    const Expr fold = Reduce(one.item.fold, over, one.item.body);
    folded =
        ReplaceLoads(one.item.finish, [&](const ExprNode& load) { return load.buffer == kItOperand ? fold : Expr(); });
  }
  nest.epilogue =
      ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) { return load.buffer == kItOperand ? folded : Expr(); });
  return nest;
}

void EmitCpu(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  if (IsPlace(kernel)) {
    Kernel nest = AsNest(kernel);
    nest.settings["inner"] = Word(FoldsRows(kernel) ? "fold" : "result");
    nest.settings["block"] = Whole(64);
    return EmitNest(program, nest, writer);
  }
  const OneFold one = FoldOf(kernel);
  EmitFolds(program, kernel, writer, PassesOf(kernel, one), one.result);
}

void EmitCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  if (IntSetting(kernel, "lanes") == 1 && !IsPlace(kernel) && kernel.lets.empty()) {
    Kernel nest = AsNest(kernel);
    SetNestDefaults(nest);
    return EmitNestCuda(program, nest, writer);
  }
  OneFold one = FoldOf(kernel);
  if (IsPlace(kernel)) {
    one.item.fold = kernel.variant == "argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin;
    one.item.finish = Load(kItOperand, {}, ScalarType::kInt);
  }
  EmitFoldsCuda(program, kernel, writer, PassesOf(kernel, one), one.result);
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

HONE_FAMILY(reduce){
    .name = "reduce",
    .doc =
        "The sum, product, mean, maximum or minimum over axes, or its place; a NaN is both the largest and the "
        "smallest.",
    .grammar = "reduce sum|prod|mean|max|min|argmax|argmin(EXPR) over [AXES] let NAME = EXPR as in norm ... -> EXPR",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .takes_lets = true,
    .knobs = kKnobs,
    .check = Check,
    .type = Type,
    .flops = Flops,
    .emit_cpu = EmitCpu,
    .emit_cuda = EmitCuda,
    .cuda_knobs = FoldKnobsCuda,
};

}  // namespace hone::dsl
