// A product whose left operand is the softmax of another: attention.
#include <algorithm>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert {
namespace {

bool IsIt(const Expr& e) { return e->kind == Expr::Kind::kLoad && e->buffer == kIt; }

// What softmax(x) is of, if the norm is that and nothing more.
std::optional<Expr> SoftmaxOf(const Piece& norm) {
  if (norm.statistics.size() != 2 || norm.axes != std::vector<int>{static_cast<int>(norm.space.size()) - 1})
    return std::nullopt;
  const Fold &most = *norm.statistics[0].fold, &sum = *norm.statistics[1].fold;
  const auto read = [](const Piece& statistic) { return Load(statistic.buffer, {Expr(0)}, ScalarType::kReal); };
  const Expr shifted = most.body - read(norm.statistics[0]);
  if (most.op != ReduceOp::kMax || sum.op != ReduceOp::kSum || !IsIt(most.finish) || !IsIt(sum.finish) ||
      !SameExpr(sum.body, Exp(shifted)) || !SameExpr(norm.value, Exp(shifted) / read(norm.statistics[1])))
    return std::nullopt;
  return most.body;
}

std::optional<dsl::Statement> Read(Names& names, const Piece& scores, const Piece& softmax, const Piece& outer) {
  const Memory& memory = names.memory();
  const auto x = SoftmaxOf(softmax);
  const std::size_t rank = scores.space.size();
  if (!x || rank < 2 || outer.space.size() != rank || scores.fold->over.size() != 1 || outer.fold->over.size() != 1 ||
      scores.fold->body->operands.size() != 2 || outer.fold->body->operands.size() != 2)
    return std::nullopt;
  const auto load = [&](const Expr& e) {
    std::optional<FlatLoad> found;
    if (e->kind == Expr::Kind::kLoad && e->buffer >= 0 && memory.Position(*e))
      found = FlatLoad{memory.Root(e->buffer), memory.Position(*e), e->type};
    return found;
  };
  auto p = load(outer.fold->body->operands[0]), v = load(outer.fold->body->operands[1]);
  auto q = load(scores.fold->body->operands[0]), k = load(scores.fold->body->operands[1]);
  if (!p || !v || !q || !k) return std::nullopt;
  if (p->buffer != softmax.buffer) std::swap(p, v);
  const IndexVar m = scores.space[rank - 2], n = scores.space[rank - 1], d = scores.fold->over[0];
  const IndexVar e = outer.space.back(), folded = outer.fold->over[0];
  if (q->position->of(m) == 0) std::swap(q, k);
  if (q->position->of(m) == 0 || q->position->of(n) != 0 || k->position->of(n) == 0 || k->position->of(m) != 0 ||
      q->position->of(d) == 0 || k->position->of(d) == 0 || v->position->of(folded) == 0 || v->position->of(e) == 0)
    return std::nullopt;
  // The probabilities are read where the scores are: [batch.., m, n] with n folded.
  std::vector<IndexVar> at(outer.space.begin(), outer.space.end() - 1);
  at.push_back(folded);
  if (Extents(at) != Extents(scores.space) || *p->position != OwnPosition(at) ||
      v->position->of(outer.space[rank - 2]) != 0)
    return std::nullopt;

  const auto view = [&](const FlatLoad& operand, const std::vector<IndexVar>& space, IndexVar row, IndexVar column) {
    std::vector<IndexVar> vars(space.begin(), space.end() - 2);
    for (auto& var : vars) {
      if (operand.position->of(var) == 0) var = NewIndex(1);
    }
    vars.push_back(row);
    vars.push_back(column);
    while (vars.size() > 2 && vars[0].extent == 1) vars.erase(vars.begin());
    std::vector<std::int64_t> strides;
    for (const auto& var : vars) strides.push_back(operand.position->of(var));
    return names.View(operand.buffer, Extents(vars), strides, operand.position->constant, Broadcast::kForbidden);
  };
  const auto q_name = view(*q, scores.space, m, d), k_name = view(*k, scores.space, n, d),
             v_name = view(*v, outer.space, folded, e);
  Piece read;  // the scores as the softmax reads them, over their own space
  read.space = softmax.space;
  read.value = *x;
  const auto score = ElementAt(memory, read, OwnPosition(scores.space), scores.space);
  if (!q_name || !k_name || !v_name || !score) return std::nullopt;
  bool own = true;
  const Expr scaled = ReplaceLoads(*score, [&](const ExprNode& node) -> Expr {
    if (node.buffer < 0 || memory.Root(node.buffer) != scores.buffer) return {};
    own &= memory.Position(node) == OwnPosition(scores.space);
    return scores.fold->finish;
  });
  if (!own) return std::nullopt;
  dsl::Statement statement;
  statement.family = "attention";
  statement.operands = {dsl::Name(*q_name), dsl::Name(*k_name), dsl::Name(*v_name)};
  statement.target_shape = Extents(outer.space);
  if (!IsIt(scaled)) {
    auto term = names.Term(scaled, scores.space, {{kIt, dsl::It()}});
    if (!term) return std::nullopt;
    statement.lets.push_back({names.Fresh("score"), std::move(*term), {}});
  }
  if (!AddEpilogue(names, statement, outer.fold->finish, outer.space)) return std::nullopt;
  return statement;
}

}  // namespace

std::optional<dsl::Statement> RecogniseAttention(Names& names, const Piece& piece) {
  if (piece.inside.size() != 2 || !piece.fold) return std::nullopt;
  Piece scores = piece.inside[0], outer = piece;
  outer.inside.clear();
  const std::size_t views = names.views().size();
  if (auto statement = Read(names, scores, piece.inside[1], outer)) return statement;
  names.ForgetViews(views);
  // Batches that one operator saw as one dimension and the other as two.
  MergeDimensions(names.memory(), scores);
  MergeDimensions(names.memory(), outer);
  return Read(names, scores, piece.inside[1], outer);
}

}  // namespace hone::expert
