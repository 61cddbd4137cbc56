#include "dsl/cuda/attention_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cuda/attention_held.h"
#include "dsl/cuda/expr.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

std::int64_t AttentionBatches(const Kernel& kernel) {
  std::int64_t batches = 1;
  for (std::size_t d = 0; d < AttentionBatchDims(kernel); ++d) batches *= kernel.space[d].extent;
  return batches;
}

std::vector<std::string> OpenAttentionBatches(DeviceWriter& out, const Kernel& kernel) {
  std::vector<std::string> names(kernel.space.size() - kAttentionM, "0");
  const std::int64_t batches = AttentionBatches(kernel);
  std::int64_t step = 1;
  for (std::size_t d = AttentionBatchDims(kernel); d-- > 0;) {
    const std::int64_t extent = kernel.space[d].extent;
    if (extent == 1) continue;
    std::string text = step == 1 ? "matrix" : fmt::format("matrix / {}", step);
    if (step * extent < batches) text += fmt::format(" % {}", extent);
    names[d] = out.Fresh("batch");
    out.Line(fmt::format("const int {} = {};", names[d], text));
    step *= extent;
  }
  return names;
}

std::vector<AttentionPart> AttentionPartsOf(const Kernel& kernel, std::size_t input) {
  const Expr& expr = kernel.inputs[input];
  const std::int64_t width = AttentionExtent(kernel, input == 2 ? kAttentionE : kAttentionD);
  const auto operand = [](const Expr& load) { return static_cast<std::size_t>(load->buffer); };
  if (expr->kind == Expr::Kind::kLoad) return {{operand(expr), 0, width}};
  if (const auto held = HeldRowsOf(kernel, input)) return {{held->operand, 0, width}};
  const std::int64_t first = kernel.first_part;
  if (first == 0 || input == 2) return {};
  const Expr &front = expr->operands[1], &back = expr->operands[2];
  if (front->kind != Expr::Kind::kLoad || back->kind != Expr::Kind::kLoad) return {};
  return {{operand(front), 0, first}, {operand(back), first, width - first}};
}

std::optional<AttentionRows> AttentionRowsOf(const Kernel& kernel, std::size_t input, const AttentionPart& part,
                                             AttentionOf types, std::string& why) {
  const std::string_view name = kAttentionNames[input];
  const DType type = kernel.operand_types[part.operand];
  const bool halves = types != AttentionOf::kF32, held = types == AttentionOf::kHeld && input > 0;
  if (halves ? !IsHalf(type) && !(held && IsHeldInEightBits(type)) : type != DType::kF32) {
    why = fmt::format("{} is {}: this kernel is for {}", name, Name(type),
                      held     ? "f16, bf16 and 8 bits"
                      : halves ? "f16 and bf16"
                               : "f32");
    return std::nullopt;
  }
  const auto pack = static_cast<std::int64_t>(16 / Bytes(type));
  const KernelOperand& operand = kernel.operands[part.operand];
  const std::size_t rank = kernel.space.size(),
                    row = rank - (input == 0           ? kAttentionM
                                  : ReadsPages(kernel) ? kAttentionS
                                                       : kAttentionN),
                    width = rank - (input == 2 ? kAttentionE : kAttentionD);
  AttentionRows rows{.buffer = operand.buffer,
                     .offset = operand.offset + part.first * operand.strides[width],
                     .count = kernel.space[row].extent,
                     .width = part.width,
                     .row = operand.strides[row]};
  if (rows.count == 1) rows.row = (rows.width + pack - 1) / pack * pack;  // of one row any will do
  if (rows.width > 1 && operand.strides[width] != 1) {
    why = fmt::format("the elements of a row of {} are {} apart: they have to lie side by side", name,
                      operand.strides[width]);
    return std::nullopt;
  }
  bool aligned = rows.offset % pack == 0 && rows.row % pack == 0 && rows.row != 0;
  for (std::size_t d = 0; d + kAttentionM < rank; ++d)
    aligned &= kernel.space[d].extent == 1 || operand.strides[d] % pack == 0;
  if (!aligned) {
    why = fmt::format("rows of {} do not begin at multiples of 16 bytes: write it as a value of its own before", name);
    return std::nullopt;
  }
  return rows;
}

std::optional<AttentionRows> AttentionRowsOf(const Kernel& kernel, std::size_t input, AttentionOf types,
                                             std::string& why) {
  const auto parts = AttentionPartsOf(kernel, input);
  if (parts.size() == 1) return AttentionRowsOf(kernel, input, parts[0], types, why);
  why = parts.empty()
            ? fmt::format("{} is an expression: write it as a value of its own before", kAttentionNames[input])
            : fmt::format("{} is in two parts: this kernel reads rows that are in one", kAttentionNames[input]);
  return std::nullopt;
}

std::optional<std::string> CheckAttentionTypes(const Kernel& kernel) {
  const DType type = kernel.operand_types[AttentionPartsOf(kernel, 0)[0].operand];
  for (std::size_t input = 0; input < 3; ++input) {
    for (const AttentionPart& part : AttentionPartsOf(kernel, input)) {
      if (kernel.operand_types[part.operand] != type) return "q, k and v are of different types: convert them before";
    }
  }
  if (kernel.compute != DType::kF32) return "it computes in f32 here, and an operand is f64";
  return std::nullopt;
}

Expr AttentionScoreOf(const Kernel& kernel) {
  return kernel.lets.empty() ? Value(kIt, ScalarType::kReal) : Cast(kernel.lets[0].body, ScalarType::kReal);
}

namespace {

ScaledScore Scaled(const Expr& score) {
  const auto is_positive = [](const Expr& e) {
    return e->kind == Expr::Kind::kConst && NumberOf(*e) > 0 && std::isfinite(NumberOf(*e));
  };
  const auto is_hidden = [](const Expr& e) { return e->kind == Expr::Kind::kConst && std::isinf(NumberOf(*e)); };
  if (score->kind == Expr::Kind::kSelect) {
    const Expr &then = score->operands[1], &otherwise = score->operands[2];
    const ScaledScore shown = Scaled(is_hidden(then) ? otherwise : then);
    if (is_hidden(then)) return {Select(score->operands[0], then, shown.score), shown.factor};
    if (is_hidden(otherwise)) return {Select(score->operands[0], shown.score, otherwise), shown.factor};
  }
  if (score->kind != Expr::Kind::kBinary) return {score};
  const Expr &a = score->operands[0], &b = score->operands[1];
  if (score->binary == BinaryOp::kMul && is_positive(b)) return {a, NumberOf(*b)};
  if (score->binary == BinaryOp::kMul && is_positive(a)) return {b, NumberOf(*a)};
  if (score->binary == BinaryOp::kDiv && is_positive(b)) return {a, 1 / NumberOf(*b)};
  return {score};
}

}  // namespace

ScaledScore ScaledAttentionScoreOf(const Kernel& kernel) {
  const Expr score = AttentionScoreOf(kernel);
  return WeighsBySoftmax(kernel) ? Scaled(score) : ScaledScore{score};
}

std::string_view AttentionWeights(const Kernel& kernel) {
  if (WeighsBySoftmax(kernel)) return "Softmax";
  return ReadsRowSum(kernel) ? "SummedScores" : "Scores";
}

namespace {

std::vector<std::string> InLong(std::vector<std::string> places) {
  for (auto& place : places) {
    if (place != "0") place = fmt::format("static_cast<long>({})", place);
  }
  return places;
}

}  // namespace

std::string AttentionElement(const DeviceWriter& out, const Kernel& kernel, std::size_t operand,
                             const std::vector<std::string>& places, std::string_view index) {
  const KernelOperand& of = kernel.operands[operand];
  const std::vector<std::string> wide = index == "long" ? InLong(places) : places;
  return fmt::format("{}[{}]", out.BufferName(of.buffer), Address(wide, of.strides, of.offset));
}

namespace {

enum class Exact : std::uint8_t { kYes, kNo };
std::string TextAt(DeviceWriter& out, const Kernel& kernel, const Expr& expr, const std::vector<std::string>& places,
                   std::string_view index, const HeldText& held, Exact exact) {
  DeviceExpr text(out, [&](const ExprNode& load) -> std::string {
    if (load.kind == Expr::Kind::kValue)
      return load.value == kRowSum ? "row_sum" : load.value == kShown ? "shown" : "it";
    const auto operand = static_cast<std::size_t>(load.buffer);
    std::string element = held ? held(operand) : std::string();
    if (element.empty()) element = AttentionElement(out, kernel, operand, places, index);
    return LoadedText(out, kernel.operands[operand].buffer, element);
  });
  for (std::size_t d = 0; d < places.size(); ++d) text.Call(kernel.space[d], places[d]);
  if (exact == Exact::kNo)
    text.BeCoarseWhereRounded({expr}, {kernel.operand_types[AttentionPartsOf(kernel, 0)[0].operand]});
  return text.Text(expr);
}

}  // namespace

std::string AttentionText(DeviceWriter& out, const Kernel& kernel, const Expr& expr,
                          const std::vector<std::string>& places, std::string_view index, const HeldText& held) {
  return TextAt(out, kernel, expr, places, index, held, Exact::kYes);
}

std::string AttentionScoreText(DeviceWriter& out, const Kernel& kernel, const Expr& score,
                               const std::vector<std::string>& places, std::string_view index, const HeldText& held) {
  const bool rounded = !WeighsBySoftmax(kernel) && IsHalf(kernel.operand_types[AttentionPartsOf(kernel, 0)[0].operand]);
  return TextAt(out, kernel, score, places, index, held, rounded ? Exact::kNo : Exact::kYes);
}

std::string AttentionResult(const Kernel& kernel, const std::string& sum, const std::string& total) {
  if (!WeighsBySoftmax(kernel)) return sum;
  const bool safe = kernel.attributes.at("safe")[0] != 0;
  return fmt::format("{}{} / {}", safe ? fmt::format("{} == 0.0f ? 0.0f : ", total) : "", sum, total);
}

// Of a row of a softmax that sees nothing both are -inf, and so is their sum.
void WriteRowSum(DeviceWriter& out, const Kernel& kernel, const std::string& most, const std::string& total) {
  if (!ReadsRowSum(kernel)) return;
  if (!WeighsBySoftmax(kernel)) return out.Line(fmt::format("const float row_sum = {};", total));
  constexpr double kLn2 = 0.6931471805599453;
  out.Line(
      fmt::format("const float row_sum = fmaf({}, {}, {}({}));", most, out.Number(kLn2), out.Helper("Log"), total));
}

namespace {

// Between which keys all limits leave what they leave of a query as far before as `first` and as far behind as `last`.
KeyTexts LimitTextsOf(DeviceWriter& out, const Kernel& kernel, const SeenKeys& seen,
                      const std::vector<std::string>& places, const std::string& first, const std::string& last) {
  const std::int64_t keys = AttentionExtent(kernel, kAttentionN);
  const auto limits = [&](std::int64_t outermost, const std::vector<KeyLimit>& all, std::string_view closest,
                          const std::string& least, const std::string& most) {
    std::string text = fmt::format("{}", outermost);
    if (all.empty()) return text;
    text += "l";
    for (const KeyLimit& limit : all) {
      std::string of = fmt::format("static_cast<long>({})", AttentionText(out, kernel, limit.of, places, "long"));
      if (limit.query > 0) of += fmt::format(" + {}", most);
      if (limit.query < 0) of += fmt::format(" - ({})", least);
      text = fmt::format("{}({}, {})", closest, text, of);
    }
    return fmt::format("static_cast<int>(min(max({}, 0l), {}l))", text, keys);
  };
  return {limits(0, seen.from, "max", last, first), limits(keys, seen.end, "min", first, last)};
}

}  // namespace

void WriteSeenKeys(DeviceWriter& out, const Kernel& kernel, const SeenKeys& seen,
                   const std::vector<std::string>& places, const std::string& first, const std::string& last) {
  const auto [from, end] = LimitTextsOf(out, kernel, seen, places, first, last);
  out.Line(fmt::format("{}int seen_from = {}, seen_end = {};", seen.or_all ? "" : "const ", from, end));
  if (seen.or_all) {
    out.Line(
        fmt::format("if (seen_end <= seen_from) seen_from = 0, seen_end = {};", AttentionExtent(kernel, kAttentionN)));
  }
}

// Each of the limits where it leaves the fewest: those at the front for the last query, those at the end for the first.
KeyTexts KeysOfAllQueries(DeviceWriter& out, const Kernel& kernel, const SeenKeys& seen,
                          const std::vector<std::string>& places, const std::string& first, const std::string& last) {
  return LimitTextsOf(out, kernel, seen, places, last, first);
}

std::string AttentionPointer(const DeviceWriter& out, const KernelOperand& operand, std::vector<std::string> places) {
  return fmt::format("{} + {}", out.BufferName(operand.buffer),
                     Address(InLong(std::move(places)), operand.strides, operand.offset));
}
std::string AttentionPointer(const DeviceWriter& out, const Kernel& kernel, std::size_t input,
                             const std::vector<std::string>& places) {
  return AttentionPointer(out, InputOperand(kernel, input), places);
}

std::string AttentionPlace(const Kernel& kernel, const std::vector<std::string>& places) {
  return Address(InLong(places), TargetStridesOf(kernel), 0);
}

void AddRead(DeviceWriter::LaunchShape& launch, int buffer) {
  if (std::find(launch.reads.begin(), launch.reads.end(), buffer) == launch.reads.end()) launch.reads.push_back(buffer);
}

}  // namespace hone::dsl
