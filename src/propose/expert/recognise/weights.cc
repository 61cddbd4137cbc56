// A product with whole numbers that memory holds in few bits, which are made reals where they are multiplied: a nest,
// in which K is as many indices as scales and bytes make of it.
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_weights {
namespace {

std::optional<dsl::Statement> RecogniseWeights(Names& names, const Piece& piece) {
  if (!piece.fold || piece.fold->op != ReduceOp::kSum || !piece.inside.empty() ||
      !IsBinary(piece.fold->body, BinaryOp::kMul))
    return std::nullopt;
  const Memory& memory = names.memory();
  const auto holds = [&](const ExprNode& node, bool (*is)(DType)) {
    return node.kind == Expr::Kind::kLoad &&
           is(memory.graph().buffers()[static_cast<std::size_t>(memory.Root(node.buffer))].dtype);
  };
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr &rows = piece.fold->body->operands[side], &weight = piece.fold->body->operands[1 - side];
    if (!holds(*rows, [](DType type) { return IsHalf(type); })) continue;
    bool stored = false;
    Visit(weight, [&](const ExprNode& node) {
      stored |= holds(node, [](DType type) { return type == DType::kI8 || type == DType::kU8; });
    });
    if (stored) return RecogniseNest(names, piece);
  }
  return std::nullopt;
}

}  // namespace

HONE_ROW(Recogniser){.name = "weights", .form = Form::kAsItIs, .place = 15, .recognise = RecogniseWeights};

}  // namespace hone::expert::recogniser_weights
