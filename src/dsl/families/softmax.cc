// softmax(EXPR) over [AXES], softmax log(EXPR) over [AXES]. The maximum first, so that no exp overflows; then the sum
// of the exps, which stay in the output's row (in cache) until they are scaled.
#include <algorithm>

#include "dsl/cpu/folds.h"
#include "dsl/cpu/knobs.h"
#include "dsl/cuda/folds.h"
#include "dsl/family.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kVariants[] = {"", "log"};

double Flops(const Kernel& kernel) { return SpaceCount(kernel) * (24 + OperationsPerElement(kernel.inputs[0])); }

std::vector<Setting> PassesValues(const Kernel& kernel, const Limits& limits) {
  if (!FoldsRows(kernel)) return {Word("three")};
  double row = 4;
  for (const int axis : kernel.axes) row *= static_cast<double>(kernel.space[static_cast<std::size_t>(axis)].extent);
  // A row that does not stay in the second-level cache would come from memory three times.
  if (row > static_cast<double>(limits.l2_bytes) / 2) return {Word("online"), Word("three")};
  return {Word("three"), Word("online")};
}
std::optional<std::string> CheckPasses(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"three", "online"})) return why;
  if (std::get<std::string>(value.value) != "online") return std::nullopt;
  if (!FoldsRows(kernel)) return "online runs over rows, and here the innermost dimension is not folded; try three";
  return std::nullopt;
}

void EmitCpu(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  const Expr x = Cast(kernel.inputs[0], ScalarType::kReal);
  const Expr it = Load(kItOperand, {}, ScalarType::kReal);
  const Expr top = Load(kLetOperand, {}, ScalarType::kReal), second = Load(kLetOperand - 1, {}, ScalarType::kReal);
  const bool log = kernel.variant == "log";
  const bool online = WordSetting(kernel, "passes") == "online";
  // The output can hold the exps if it has the type that they are computed in.
  const bool keeps =
      !log && !online && program.buffers[static_cast<std::size_t>(kernel.target)].dtype == ComputeType(program, kernel);
  // A NaN comes into the result with the sum; the online pass looks at the maximum alone to see whether there is one.
  const FoldPass::Item max{.let = 0, .fold = ReduceOp::kMax, .body = x, .finish = it, .name = "top", .nans = online};
  const Expr power = Exp(x - top);
  const FoldPass::Item sum{.let = 1,
                           .fold = ReduceOp::kSum,
                           .body = power,
                           .finish = log ? Log(it) : Expr(1.0) / it,
                           .name = log ? "log_sum" : "scale"};
  std::vector<FoldPass> passes;
  if (online) {
    passes.push_back({.items = {max, sum}, .keep = {}, .online = true});
  } else {
    passes.push_back({.items = {max}, .keep = {}});
    passes.push_back({.items = {sum}, .keep = keeps ? power : Expr()});
  }
  const Expr value = log ? x - top - second : (keeps ? Load(kKeptOperand, {}, ScalarType::kReal) : power) * second;
  const Expr result =
      ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) { return load.buffer == kItOperand ? value : Expr(); });
  EmitFolds(program, kernel, writer, passes, result);
}

// Maximum, sum, scale: the row stays in registers where it fits.
void EmitCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& writer) {
  const Expr x = Cast(kernel.inputs[0], ScalarType::kReal);
  const Expr it = Load(kItOperand, {}, ScalarType::kReal);
  const Expr top = Load(kLetOperand, {}, ScalarType::kReal), second = Load(kLetOperand - 1, {}, ScalarType::kReal);
  const bool log = kernel.variant == "log";
  const Expr power = Exp(x - top);
  const FoldPass::Item max{.let = 0, .fold = ReduceOp::kMax, .body = x, .finish = it, .name = "top"};
  const FoldPass::Item sum{.let = 1,
                           .fold = ReduceOp::kSum,
                           .body = power,
                           .finish = log ? Log(it) : Expr(1.0) / it,
                           .name = log ? "log_sum" : "scale"};
  const Expr value = log ? x - top - second : power * second;
  const Expr result =
      ReplaceLoads(kernel.epilogue, [&](const ExprNode& load) { return load.buffer == kItOperand ? value : Expr(); });
  EmitFoldsCuda(program, kernel, writer, {{.items = {max}, .keep = {}}, {.items = {sum}, .keep = {}}}, result);
}

constexpr Knob kKnobs[] = {
    kThreadsKnob,
    kVectorKnob,
    kFoldPrefetchKnob,
    kAccumulatorsKnob,
    kColumnsKnob,
    kSplitKnob,
    {"passes",
     "three: maximum, sum, scale; online: maximum and sum in one pass over memory, for rows that outgrow the cache",
     PassesValues, CheckPasses},
};

}  // namespace

HONE_FAMILY(softmax){
    .name = "softmax",
    .doc = "exp(x) over its sum along axes, or the logarithm of that; the largest element is taken out first.",
    .grammar = "softmax [log](EXPR) over [AXES]",
    .variants = kVariants,
    .operands = 1,
    .takes_axes = true,
    .keeps_axes = true,
    .knobs = kKnobs,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .flops = Flops,
    .emit_cpu = EmitCpu,
    .emit_cuda = EmitCuda,
    .cuda_knobs = FoldKnobsCuda,
};

}  // namespace hone::dsl
