// reduce sum|prod|mean|max|min|argmax|argmin(EXPR) over [AXES]: one value a row, a column or the whole.
#include <fmt/format.h>

#include "dsl/cpu/folds.h"
#include "dsl/cpu/nest.h"
#include "dsl/cuda/fold_knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/cuda/nest.h"
#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kVariants[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin"};

bool IsPlace(const Kernel& kernel) { return kernel.variant == "argmax" || kernel.variant == "argmin"; }

double Flops(const Kernel& kernel) { return SpaceCount(kernel) * (1 + OperationsPerElement(kernel.inputs[0])); }

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
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
  item.fold = FoldOfVariant(kernel.variant);
  item.body = kernel.inputs[0];
  if (item.body->type == ScalarType::kBool) item.body = Cast(item.body, ScalarType::kInt);
  const Expr it = Load(kItOperand, {}, item.body->type);
  double count = 1;
  for (const int axis : kernel.axes) count *= static_cast<double>(kernel.space[static_cast<std::size_t>(axis)].extent);
  item.finish = kernel.variant == "mean" ? it / count : it;
  item.name = kernel.variant;
  // The epilogue's `it` is the finished value.
  one.result = ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) {
    return load.buffer == kItOperand ? Load(kLetOperand, {}, load.type) : Expr();
  });
  return one;
}

// The same as a nest.
Kernel AsNest(const Kernel& kernel) {
  Kernel nest = kernel;
  std::vector<IndexVar> over;
  nest.space.clear();
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    const bool folded = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d));
    (folded ? over : nest.space).push_back(kernel.space[d]);
    static constexpr std::string_view kNames[] = {"i", "j", "k", "l"};
    nest.index_names[kernel.space[d].id] = d < 4 ? std::string(kNames[d]) : fmt::format("i_{}", d);
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
  EmitFolds(program, kernel, writer, {{.items = {one.item}, .keep = {}}}, one.result);
}

void EmitCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  if (IntSetting(kernel, "lanes") == 1 && !IsPlace(kernel)) {
    Kernel nest = AsNest(kernel);
    SetNestDefaults(nest);
    return EmitNestCuda(program, nest, writer);
  }
  OneFold one = FoldOf(kernel);
  if (IsPlace(kernel)) {
    one.item.fold = kernel.variant == "argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin;
    one.item.finish = Load(kItOperand, {}, ScalarType::kInt);
  }
  EmitFoldsCuda(program, kernel, writer, {{.items = {one.item}, .keep = {}}}, one.result);
}

constexpr Knob kKnobs[] = {kThreadsKnob, kVectorKnob, kAccumulatorsKnob, kColumnsKnob, kSplitKnob};

}  // namespace

HONE_FAMILY(reduce){
    .name = "reduce",
    .doc =
        "The sum, product, mean, maximum or minimum over axes, or its place; a NaN is both the largest and the "
        "smallest.",
    .grammar = "reduce sum|prod|mean|max|min|argmax|argmin(EXPR) over [AXES]",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .knobs = kKnobs,
    .check = Check,
    .type = Type,
    .flops = Flops,
    .emit_cpu = EmitCpu,
    .emit_cuda = EmitCuda,
    .cuda_knobs = FoldKnobsCuda,
};

}  // namespace hone::dsl
