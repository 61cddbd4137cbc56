// A product whose sum is over a segment of terms for each of its first indices, from where the segment before ends to
// where its own does: segment_matmul.
#include "expr/linear_index.h"
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_segment_product {
namespace {

// Whether it is ends[max(g - 1, 0)].
bool IsEndBefore(const Expr& expr, const IndexVar& g, int ends) {
  const Expr load = WithoutWholeCasts(expr);
  if (load->kind != Expr::Kind::kLoad || load->buffer != ends || load->operands.size() != 1) return false;
  const Expr& at = load->operands[0];
  if (!IsBinary(at, BinaryOp::kMax) || ConstantNumber(at->operands[1]) != 0) return false;
  const LinearIndex before = ToLinear(at->operands[0]);
  return before.constant == -1 && before.atoms.size() == 1 && before.atoms[0].second == 1 &&
         IsIndex(before.atoms[0].first, g);
}

// Of `begin <= k and k < ends[g]`, with begin the end before, 0 of the first one: the load of the ends; nothing if it
// is another condition.
Expr EndsOf(const Expr& inside, const IndexVar& g, const IndexVar& k) {
  if (!IsBinary(inside, BinaryOp::kAnd)) return {};
  const Expr &from = inside->operands[0], &to = inside->operands[1];
  if (!IsBinary(from, BinaryOp::kLessEqual) || !IsIndex(from->operands[1], k) || !IsBinary(to, BinaryOp::kLess) ||
      !IsIndex(to->operands[0], k))
    return {};
  const Expr end = WithoutWholeCasts(to->operands[1]);
  if (end->kind != Expr::Kind::kLoad || end->operands.size() != 1) return {};
  const Expr begin = WithoutWholeCasts(from->operands[0]);
  const bool is_end_before = begin->kind == Expr::Kind::kSelect && IsBinary(begin->operands[0], BinaryOp::kEqual) &&
                             IsIndex(begin->operands[0]->operands[0], g) &&
                             ConstantNumber(begin->operands[0]->operands[1]) == 0 &&
                             ConstantNumber(begin->operands[1]) == 0 && IsEndBefore(begin->operands[2], g, end->buffer);
  return is_end_before ? end : Expr();
}

std::optional<dsl::Statement> RecogniseSegmentProduct(Names& names, const Piece& piece) {
  if (!piece.fold || piece.fold->op != ReduceOp::kSum || piece.fold->over.size() != 1 || piece.space.size() != 3 ||
      !piece.statistics.empty())
    return std::nullopt;
  const Expr& body = piece.fold->body;
  if (body->kind != Expr::Kind::kSelect || !IsBinary(body->operands[1], BinaryOp::kMul) ||
      ConstantNumber(body->operands[2]) != 0)
    return std::nullopt;
  const IndexVar g = piece.space[0], m = piece.space[1], n = piece.space[2], k = piece.fold->over[0];
  const Memory& memory = names.memory();
  const Expr end = EndsOf(body->operands[0], g, k);
  const auto end_at = end ? memory.Position(*end) : std::nullopt;
  if (!end_at || end_at->of(g) == 0) return std::nullopt;

  const Expr *left = &body->operands[1]->operands[0], *right = &body->operands[1]->operands[1];
  if ((*left)->kind != Expr::Kind::kLoad || (*right)->kind != Expr::Kind::kLoad) return std::nullopt;
  auto a_at = memory.Position(**left), b_at = memory.Position(**right);
  if (!a_at || !b_at) return std::nullopt;
  if (b_at->of(n) == 0) {
    std::swap(left, right);
    std::swap(a_at, b_at);
  }
  if (a_at->of(m) == 0 || a_at->of(n) != 0 || b_at->of(n) == 0 || b_at->of(m) != 0) return std::nullopt;
  for (const auto& at : {*a_at, *b_at}) {
    if (at.of(g) != 0 || at.of(k) == 0) return std::nullopt;
  }
  const auto a = names.Matrix(memory.Root((*left)->buffer), *a_at, {}, m, k),
             b = names.Matrix(memory.Root((*right)->buffer), *b_at, {}, k, n),
             ends = names.Operand(memory.Root(end->buffer), *end_at, {g});
  if (!a || !b || !ends) return std::nullopt;
  dsl::Statement statement;
  statement.family = "segment_matmul";
  statement.operands = {dsl::Name(*a), dsl::Name(*b), dsl::Name(*ends)};
  statement.target_shape = Extents(piece.space);
  if (!AddEpilogue(names, statement, piece.fold->finish, piece.space)) return std::nullopt;
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){
    .name = "segment_product", .form = Form::kAsItIs, .place = 45, .recognise = RecogniseSegmentProduct};

}  // namespace hone::expert::recogniser_segment_product
