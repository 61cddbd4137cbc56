// The maximum first, so that no exp overflows; then the sum of the exps, which stay in the output's row (in cache)
// until they are scaled.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/folds.h"
#include "dsl/knobs.h"
#include "dsl/shape/updated_places.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_softmax {
namespace {

constexpr double kNearRow = 32 << 10;    // [bytes] up to here the next row comes in time, and three passes are cheap
constexpr double kLongestRow = 1 << 24;  // of which blocks are scaled one by one: their factors are on the stack

double RowOf(const Kernel& kernel) {
  double row = 1;
  for (const int axis : kernel.axes) row *= static_cast<double>(kernel.space[static_cast<std::size_t>(axis)].extent);
  return row;
}

std::optional<std::string> CheckPasses(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckWord(value, {"three", "online", "blocks"})) return why;
  const std::string& word = std::get<std::string>(value.value);
  if (word == "three") return std::nullopt;
  if (!FoldsRows(kernel)) {
    return fmt::format("{} runs over rows, and here the innermost dimension is not folded; try three", word);
  }
  if (word == "online") return std::nullopt;
  if (kernel.variant == "log") return "blocks keeps exps, of which a logarithm has no use; try online";
  if (ReplacesOperand(kernel)) return "blocks keeps exps in the output, of which it reads the elements; try online";
  if (!FoldsOneRange(kernel)) return "blocks wants a row in one piece; try online";
  if (RowOf(kernel) > kLongestRow) return fmt::format("blocks is for rows up to {} elements; try online", kLongestRow);
  return std::nullopt;
}
std::vector<Setting> PassesValues(const Kernel& kernel) {
  if (!FoldsRows(kernel)) return {Word("three")};
  // A row that does not stay in the second-level cache would come from memory three times; one that does not stay in
  // the first is met three times there. By blocks it is once, if its threads' shares of the output stay in the second.
  const double row = RowOf(kernel) * 4, cache = static_cast<double>(kernel.device->l2_bytes) / 2;
  if (row > kNearRow && row <= cache * kernel.device->threads && !CheckPasses(kernel, Word("blocks")))
    return {Word("blocks"), Word("three"), Word("online")};
  if (row <= cache) return {Word("three"), Word("online")};
  return {Word("online"), Word("three")};
}

void Emit(const KernelProgram& program, const Kernel& kernel, Writer& writer) {
  const Expr x = Cast(kernel.inputs[0], ScalarType::kReal);
  const Expr it = Value(kIt, ScalarType::kReal);
  const Expr top = Value(LetValue(0), ScalarType::kReal), second = Value(LetValue(1), ScalarType::kReal);
  const bool log = kernel.variant == "log";
  const std::string passes_setting = WordSetting(kernel, "passes");
  const bool online = passes_setting != "three";
  // The output can hold the exps if it has the type that they are computed in, and is not what they are made of.
  const bool keeps = !log && passes_setting != "online" && !ReplacesOperand(kernel) &&
                     program.buffers[static_cast<std::size_t>(kernel.target)].dtype == ComputeType(program, kernel);
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
    passes.push_back({.items = {max, sum}, .keep = keeps ? power : Expr(), .online = true});
  } else {
    passes.push_back({.items = {max}, .keep = {}});
    passes.push_back({.items = {sum}, .keep = keeps ? power : Expr()});
  }
  const Expr value = log ? x - top - second : (keeps ? Value(kKept, ScalarType::kReal) : power) * second;
  const Expr result = ReplaceValue(kernel.epilogue, kIt, value);
  EmitFolds(program, kernel, writer, passes, result);
}

// In this order: what is fetched depends on the passes, and the accumulators on that.
constexpr Knob kKnobs[] = {
    kThreadsKnob,
    kVectorKnob,
    {"passes",
     "three: maximum, sum, scale; online: maximum and sum in one pass over memory, for rows that outgrow the cache; "
     "blocks: likewise, the exps kept in the output",
     PassesValues, CheckPasses},
    kFoldPrefetchKnob,
    kAccumulatorsKnob,
    kColumnsKnob,
    kSplitKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "softmax",
    .knobs = kKnobs,
    .emit_cpu = Emit,
};

}  // namespace hone::dsl::cpu_way_softmax
