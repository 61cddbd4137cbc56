// A product with numbers that memory holds in few bits, which are made reals of 16 where they are multiplied: a nest,
// in which K is as many indices as scales and bytes make of it. Before matmul, which widens reals of 8 bits to f32.
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
    Visit(weight, [&](const ExprNode& node) { stored |= holds(node, IsStoredInFewBits); });
    const auto position = memory.Position(*rows);
    std::int64_t of_rows = 1, columns = 1;
    for (const IndexVar& var : piece.space) (position && position->of(var) != 0 ? of_rows : columns) *= var.extent;
    if (!stored || columns == 1 || of_rows > kRowsOfStoredWeights) continue;
    auto statement = RecogniseNest(names, piece);
    if (statement) statement->settings["way"] = {"weights"};  // another is no better than what other recognisers write
    return statement;
  }
  return std::nullopt;
}

}  // namespace

HONE_ROW(Recogniser){.name = "weights", .form = Form::kAsItIs, .place = 5, .recognise = RecogniseWeights};

}  // namespace hone::expert::recogniser_weights
