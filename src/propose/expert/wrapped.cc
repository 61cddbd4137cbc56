// What is between two maps that become one wraps around in memory where it is of 8 or 16 bits, and does so in between.
#include <algorithm>
#include <cstdint>

#include "graph/op.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

struct Span {
  double least = 0, most = 0;
};

Span SpanOf(DType type) {
  if (type == DType::kBool) return {0, 1};
  const double count = static_cast<double>(std::uint64_t{1} << (8 * Bytes(type) - 1));
  return type == DType::kU8 ? Span{0, 255} : Span{-count, count - 1};
}

// What a whole number lies between, as far as types and operations say; what reals are made whole fits.
Span SpanOf(const Memory& memory, const Expr& e, const Span& type) {
  const auto of = [&](std::size_t operand) { return SpanOf(memory, e->operands[operand], type); };
  const auto both = [](const Span& a, const Span& b) {
    return Span{std::min(a.least, b.least), std::max(a.most, b.most)};
  };
  const Span any = SpanOf(DType::kI64);
  switch (e->kind) {
    case Expr::Kind::kConst: return {NumberOf(*e), NumberOf(*e)};
    case Expr::Kind::kIndex: return {0, static_cast<double>(e->index.extent - 1)};
    case Expr::Kind::kLoad:
      return SpanOf(memory.graph().buffers()[static_cast<std::size_t>(memory.Root(e->buffer))].dtype);
    case Expr::Kind::kCast:
      if (e->operands[0]->type == ScalarType::kReal) return type;
      return e->operands[0]->type == ScalarType::kBool ? Span{0, 1} : of(0);
    case Expr::Kind::kSelect: return both(of(1), of(2));
    case Expr::Kind::kBinary: {
      if (e->type != ScalarType::kInt) return any;
      const Span a = of(0), b = of(1);
      switch (e->binary) {
        case BinaryOp::kAdd: return {a.least + b.least, a.most + b.most};
        case BinaryOp::kSub: return {a.least - b.most, a.most - b.least};
        case BinaryOp::kMul: {
          const auto [least, most] =
              std::minmax({a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most});
          return {least, most};
        }
        case BinaryOp::kMin: return {std::min(a.least, b.least), std::min(a.most, b.most)};
        case BinaryOp::kMax: return {std::max(a.least, b.least), std::max(a.most, b.most)};
        case BinaryOp::kFloorMod: return b.least > 0 ? Span{0, b.most - 1} : any;
        case BinaryOp::kFloorDiv:
          return b.least > 0 ? Span{std::min(a.least, 0.0), std::max(a.most / b.least, 0.0)} : any;
        case BinaryOp::kAnd:
          if (a.least < 0 && b.least < 0) return any;
          return {0, std::min(a.least < 0 ? b.most : a.most, b.least < 0 ? a.most : b.most)};
        case BinaryOp::kOr:
        case BinaryOp::kXor: {
          const Span all = both(a, b);
          return all.least < type.least || all.most > type.most ? any : type;
        }
        default: return any;
      }
    }
    default: return any;
  }
}

}  // namespace

Expr AsKept(const Memory& memory, int buffer, const Expr& value) {
  const DType type = memory.graph().buffers()[static_cast<std::size_t>(buffer)].dtype;
  if (value->type != ScalarType::kInt || IsFloat(type) || Bytes(type) > 2 || type == DType::kBool) return value;
  const Span kept = SpanOf(type), made = SpanOf(memory, value, kept);
  return made.least < kept.least || made.most > kept.most ? Held(value, type) : value;
}

Expr WithoutWraps(const Memory& memory, const Expr& expr) {
  return Rewrite(expr, [&](const Expr& e) -> Expr {
    // What the wrap of a type with negative numbers leaves.
    if (IsBinary(e, BinaryOp::kSub) && e->type == ScalarType::kInt && IsBinary(e->operands[0], BinaryOp::kAdd) &&
        e->operands[1]->kind == Expr::Kind::kConst && SameExpr(e->operands[0]->operands[1], e->operands[1]))
      return e->operands[0]->operands[0];
    if (!IsBinary(e, BinaryOp::kFloorMod) || e->type != ScalarType::kInt || e->operands[1]->kind != Expr::Kind::kConst)
      return {};
    const Span of = SpanOf(memory, e->operands[0], SpanOf(DType::kI64));
    return of.least >= 0 && of.most < NumberOf(*e->operands[1]) ? e->operands[0] : Expr();
  });
}

}  // namespace hone::expert
