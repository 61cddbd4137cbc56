#include "dsl/cuda/attention_held.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "dsl/cuda/attention_parts.h"
#include "dsl/shape/attention_weights.h"
#include "dsl/shape/pages.h"

namespace hone {
extern const std::string_view kAttentionHeldText;       // dsl/cuda/attention_held.cuh
extern const std::string_view kAttentionHeldBytesText;  // dsl/cuda/attention_held_bytes.cuh
extern const std::string_view kAttentionHeldRealsText;  // dsl/cuda/attention_held_reals.cuh
extern const std::string_view kStoredRealsText;         // dsl/cuda/stored_reals.cuh
extern const std::string_view kStoredWeightsText;       // dsl/cuda/stored_weights.cuh
}  // namespace hone

namespace hone::dsl {
namespace {

// Whether what an expression loads moves along the dimension.
bool MovesAlong(const Kernel& kernel, const Expr& expr, std::size_t d) {
  bool moves = false;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    moves |= kernel.space[d].extent > 1 && kernel.operands[static_cast<std::size_t>(node.buffer)].strides[d] != 0;
  });
  return moves;
}

// Takes factors of an operand apart, into `rows`.
class HeldFactors {
 public:
  HeldFactors(const Kernel& kernel, std::size_t along) : kernel_(kernel), along_(along) {}

  bool Take(const Expr& e) {
    if (IsBinary(e, BinaryOp::kMul)) return Take(e->operands[0]) && Take(e->operands[1]);
    if (IsBinary(e, BinaryOp::kDiv) && !MovesAlong(kernel_, e->operands[1], along_))
      return TakeScale(Expr(1.0) / e->operands[1]) && Take(e->operands[0]);
    const Expr& stored = e->kind == Expr::Kind::kCast && e->type == ScalarType::kReal ? e->operands[0] : e;
    if (stored->kind == Expr::Kind::kLoad && !found &&
        IsHeldInEightBits(kernel_.operand_types[static_cast<std::size_t>(stored->buffer)])) {
      rows.operand = static_cast<std::size_t>(stored->buffer);
      return found = true;
    }
    return !MovesAlong(kernel_, e, along_) && TakeScale(e);
  }

  HeldRows rows;
  bool found = false;

 private:
  bool TakeScale(const Expr& scale) {
    rows.scale = rows.scale ? rows.scale * scale : scale;
    return !HasReduce(scale);
  }

  const Kernel& kernel_;
  std::size_t along_;
};

}  // namespace

std::optional<HeldRows> HeldRowsOf(const Kernel& kernel, std::size_t input) {
  if (input == 0 || kernel.first_part != 0) return std::nullopt;
  HeldFactors factors(kernel, kernel.space.size() - (input == 2 ? kAttentionE : kAttentionD));
  if (!factors.Take(kernel.inputs[input]) || !factors.found) return std::nullopt;
  return factors.rows;
}

ScaleOf ScaleOfRows(const Kernel& kernel, std::size_t input) {
  const auto rows = HeldRowsOf(kernel, input);
  if (!rows || !rows->scale) return ScaleOf::kNone;
  const std::size_t rank = kernel.space.size();
  const bool each = ReadsPages(kernel) ? MovesAlong(kernel, rows->scale, rank - kAttentionP) ||
                                             MovesAlong(kernel, rows->scale, rank - kAttentionS)
                                       : MovesAlong(kernel, rows->scale, rank - kAttentionN);
  return each ? ScaleOf::kEach : ScaleOf::kAll;
}

bool HaveScalesEach(const Kernel& kernel) {
  return ScaleOfRows(kernel, 1) == ScaleOf::kEach || ScaleOfRows(kernel, 2) == ScaleOf::kEach;
}

DType HeldType(const Kernel& kernel) { return kernel.operand_types[AttentionPartsOf(kernel, 1)[0].operand]; }

std::optional<std::string> CheckHeldTypes(const Kernel& kernel) {
  const auto type = [&](std::size_t input) { return kernel.operand_types[AttentionPartsOf(kernel, input)[0].operand]; };
  if (type(1) != type(2) || (type(1) != type(0) && !IsHeldInEightBits(type(1))))
    return "q, k and v are of different types: convert them before";
  if (kernel.compute != DType::kF32) return "it computes in f32 here, and an operand is f64";
  return std::nullopt;
}

DType MultipliedAs(const Kernel& kernel) {
  return IsHeldInEightBits(HeldType(kernel)) && WeighsBySoftmax(kernel) ? DType::kF16 : InputType(kernel, 0);
}

std::string DefineHeld(DeviceWriter& out, const Kernel& kernel) {
  const DType held = HeldType(kernel);
  const auto query = DeviceType(MultipliedAs(kernel));
  out.Define(std::string(kAttentionHeldText));
  if (!IsHeldInEightBits(held)) return fmt::format("HeldPairs<{}>", query);
  out.Define(std::string(kStoredWeightsText));
  out.Define(std::string(kAttentionHeldBytesText));
  if (held == DType::kI8) return fmt::format("HeldBytes<{}>", query);
  out.Define(std::string(kStoredRealsText));
  out.Define(std::string(kAttentionHeldRealsText));
  return fmt::format("HeldReals<{}, {}>", query, held == DType::kF8E5M2 ? "__NV_E5M2" : "__NV_E4M3");
}

}  // namespace hone::dsl
