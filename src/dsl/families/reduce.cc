// reduce sum|prod|mean|max|min(EXPR) over [AXES]: one value a row, a column or the whole.
#include "dsl/cpu/folds.h"
#include "dsl/cpu/knobs.h"
#include "dsl/family.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kVariants[] = {"sum", "prod", "mean", "max", "min"};

double Flops(const Kernel& kernel) { return SpaceCount(kernel) * (1 + OperationsPerElement(kernel.inputs[0])); }

std::optional<std::string> Check(const KernelProgram&, const Kernel& kernel) {
  for (const auto& index : kernel.space) {
    if (index.extent == 0 && (kernel.variant == "max" || kernel.variant == "min"))
      return "there is no largest of nothing: an extent is 0";
  }
  return std::nullopt;
}

// Bools are counted.
ScalarType Type(const Kernel& kernel) {
  if (kernel.variant == "mean") return ScalarType::kReal;
  const ScalarType type = kernel.inputs[0]->type;
  return type == ScalarType::kBool ? ScalarType::kInt : type;
}

void EmitCpu(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  FoldPass::Item item;
  item.fold = kernel.variant == "prod"  ? ReduceOp::kProd
              : kernel.variant == "max" ? ReduceOp::kMax
              : kernel.variant == "min" ? ReduceOp::kMin
                                        : ReduceOp::kSum;
  item.body = kernel.inputs[0];
  if (item.body->type == ScalarType::kBool) item.body = Cast(item.body, ScalarType::kInt);
  const Expr it = Load(kItOperand, {}, item.body->type);
  double count = 1;
  for (const int axis : kernel.axes) count *= static_cast<double>(kernel.space[static_cast<std::size_t>(axis)].extent);
  item.finish = kernel.variant == "mean" ? it / count : it;
  item.name = kernel.variant;
  // The epilogue's `it` is the finished value.
  const Expr result = ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) {
    return load.buffer == kItOperand ? Load(kLetOperand, {}, load.type) : Expr();
  });
  EmitFolds(program, kernel, writer, {{.items = {item}, .keep = {}}}, result);
}

constexpr Knob kKnobs[] = {kThreadsKnob, kVectorKnob, kAccumulatorsKnob, kColumnsKnob, kSplitKnob};

}  // namespace

HONE_FAMILY(reduce){
    .name = "reduce",
    .doc = "The sum, product, mean, maximum or minimum over axes; a NaN is both the largest and the smallest.",
    .grammar = "reduce sum|prod|mean|max|min(EXPR) over [AXES]",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .knobs = kKnobs,
    .check = Check,
    .type = Type,
    .flops = Flops,
    .emit_cpu = EmitCpu,
};

}  // namespace hone::dsl
