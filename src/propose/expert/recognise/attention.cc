// A product whose left operand is the softmax of another: attention.
#include <algorithm>
#include <cmath>

#include "propose/expert/hidden_keys.h"
#include "propose/expert/normalise.h"
#include "propose/expert/recognise/recognise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert::recogniser_attention {
namespace {

// What softmax(x) is of, if the norm is that and nothing more; `safe`: rows of nothing but -inf become zeros.
struct Softmax {
  Expr of;
  bool safe = false;
};
std::optional<Softmax> SoftmaxOf(const Piece& norm) {
  if (norm.statistics.size() != 2 || norm.axes != std::vector<int>{static_cast<int>(norm.space.size()) - 1})
    return std::nullopt;
  const Fold &most = *norm.statistics[0].fold, &sum = *norm.statistics[1].fold;
  const auto read = [](const Piece& statistic) { return Load(statistic.buffer, {Expr(0)}, ScalarType::kReal); };
  const Expr shifted = most.body - read(norm.statistics[0]), total = read(norm.statistics[1]);
  if (most.op != ReduceOp::kMax || sum.op != ReduceOp::kSum || !IsValue(sum.finish, kIt) ||
      !SameExpr(sum.body, Exp(shifted)))
    return std::nullopt;
  const Expr it = Value(kIt, ScalarType::kReal), weight = Exp(shifted) / total;
  if (IsValue(most.finish, kIt) && SameExpr(norm.value, weight)) return Softmax{most.body};
  if (SameExpr(most.finish, Select(Equal(it, -INFINITY), 0.0, it)) &&
      SameExpr(norm.value, Select(Equal(total, 0.0), 0.0, weight)))
    return Softmax{most.body, true};
  return std::nullopt;
}

// The score with what it reads of places of queries and keys alone made of them: no kernel has to write that.
Expr MadeOfPlaces(const Memory& memory, const Expr& score, const IndexVar& query, const IndexVar& key) {
  return Simplify(ReplaceLoads(score, [&](const ExprNode& load) -> Expr {
    const auto made = MadeOfIndices(memory, load);
    if (!made) return {};
    const auto vars = VarsOf(*made);
    const bool known =
        std::all_of(vars.begin(), vars.end(), [&](const IndexVar& v) { return v.id == query.id || v.id == key.id; });
    return known ? *made : Expr();
  }));
}

// [.., heads.., M, E] as [.., M, heads.., E]
std::vector<IndexVar> BesideRows(std::vector<IndexVar> space, std::size_t heads) {
  std::rotate(space.end() - 2 - static_cast<std::ptrdiff_t>(heads), space.end() - 2, space.end() - 1);
  return space;
}

// How many of the last batch dimensions of attention `map` lays side by side in each query's row, if that is all that
// it does.
std::int64_t HeadsOf(const Memory& memory, const Piece& map, const std::vector<IndexVar>& space) {
  const std::size_t batches = space.size() - 2;
  for (std::size_t heads = 1; heads <= batches; ++heads) {
    const auto moved = ElementAt(memory, map, OwnPosition(BesideRows(space, heads)), BesideRows(space, heads));
    if (moved && (*moved)->kind == Expr::Kind::kLoad && memory.Position(**moved) == OwnPosition(space))
      return static_cast<std::int64_t>(heads);
  }
  return 0;
}

// `map`: null, or what moves the result.
std::optional<dsl::Statement> Read(Names& names, const Piece& scores, const Piece& softmax, const Piece& outer,
                                   const Piece* map) {
  const Memory& memory = names.memory();
  const auto weights = SoftmaxOf(softmax);
  const std::size_t rank = scores.space.size();
  if (!weights || rank < 2 || outer.space.size() != rank || scores.fold->over.size() != 1 ||
      outer.fold->over.size() != 1 || scores.fold->body->operands.size() != 2 || outer.fold->body->operands.size() != 2)
    return std::nullopt;
  const auto load = [&](const Expr& e) {
    std::optional<FlatLoad> found;
    if (e->kind == Expr::Kind::kLoad && memory.Position(*e))
      found = FlatLoad{memory.Root(e->buffer), memory.Position(*e), e->type};
    return found;
  };
  auto p = load(outer.fold->body->operands[0]), v = load(outer.fold->body->operands[1]);
  auto q = load(scores.fold->body->operands[0]), k = load(scores.fold->body->operands[1]);
  if (!p || !v || !q || !k) return std::nullopt;
  if (p->buffer != softmax.buffer) std::swap(p, v);
  const IndexVar m = scores.space[rank - 2], n = scores.space[rank - 1], d = scores.fold->over[0];
  const IndexVar e = outer.space.back(), folded = outer.fold->over[0];
  if (q->position->of(n) != 0) std::swap(q, k);
  if ((m.extent > 1 && q->position->of(m) == 0) || q->position->of(n) != 0 || k->position->of(n) == 0 ||
      k->position->of(m) != 0 || q->position->of(d) == 0 || k->position->of(d) == 0 || v->position->of(folded) == 0 ||
      v->position->of(e) == 0)
    return std::nullopt;
  // The probabilities are read where the scores are: [batch.., m, n] with n folded.
  std::vector<IndexVar> at(outer.space.begin(), outer.space.end() - 1);
  at.push_back(folded);
  if (Extents(at) != Extents(scores.space) || *p->position != OwnPosition(at) ||
      v->position->of(outer.space[rank - 2]) != 0)
    return std::nullopt;

  const auto view = [&](const FlatLoad& operand, const std::vector<IndexVar>& space, IndexVar row, IndexVar column) {
    return names.Matrix(operand.buffer, *operand.position, {space.begin(), space.end() - 2}, row, column);
  };
  const auto q_name = view(*q, scores.space, m, d), k_name = view(*k, scores.space, n, d),
             v_name = view(*v, outer.space, folded, e);
  Piece read;  // the scores as the softmax reads them, over their own space
  read.space = softmax.space;
  read.value = weights->of;
  const auto score = ElementAt(memory, read, OwnPosition(scores.space), scores.space);
  if (!q_name || !k_name || !v_name || !score) return std::nullopt;
  bool own = true;
  Expr scaled = ReplaceLoads(*score, [&](const ExprNode& node) -> Expr {
    if (memory.Root(node.buffer) != scores.buffer) return {};
    own &= memory.Position(node) == OwnPosition(scores.space);
    return scores.fold->finish;
  });
  if (!own) return std::nullopt;
  dsl::Statement statement;
  statement.family = "attention";
  statement.operands = {dsl::Name(*q_name), dsl::Name(*k_name), dsl::Name(*v_name)};
  std::vector<IndexVar> made = outer.space;
  if (map) {
    const std::int64_t heads = HeadsOf(memory, *map, outer.space);
    if (heads == 0) return std::nullopt;
    statement.attributes["heads"] = {heads};
    made = BesideRows(made, static_cast<std::size_t>(heads));
  }
  statement.target_shape = Extents(made);
  scaled = MadeOfPlaces(memory, scaled, m, n);
  if (const auto behind = BehindCausal(scaled, m, n)) {
    statement.attributes["causal"] = {1};
    scaled = *behind;
  }
  if (weights->safe) statement.attributes["safe"] = {1};
  if (!IsValue(scaled, kIt)) {
    auto term = names.Term(scaled, scores.space,
                           {.values = {{kIt, dsl::It()}},
                            .lets = {},
                            .indices = {{m.id, dsl::Call("query", {})}, {n.id, dsl::Call("key", {})}}});
    if (!term) return std::nullopt;
    statement.lets.push_back({names.Fresh("score"), std::move(*term), {}});
  }
  if (!AddEpilogue(names, statement, outer.fold->finish, made)) return std::nullopt;
  return statement;
}

// The piece with a dimension of one element before its last.
Piece WithOneRow(Piece piece) {
  piece.space.insert(piece.space.end() - 1, NewIndex(1));
  for (int& axis : piece.axes) axis += axis + 2 == static_cast<int>(piece.space.size()) ? 1 : 0;
  return piece;
}

std::optional<dsl::Statement> RecogniseAttention(Names& names, const Piece& piece) {
  const Piece* const map = piece.is_map() && piece.inside.size() == 1 ? &piece : nullptr;
  Piece outer = map ? piece.inside[0] : piece;
  if (outer.inside.size() != 2 || !outer.fold || outer.inside[1].statistics.empty()) return std::nullopt;
  Piece softmax = outer.inside[1];
  Piece scores = outer.inside[0];
  outer.inside.clear();
  const std::size_t views = names.views().size();
  const auto read = [&](const Piece& of_keys, const Piece& of_values) {
    auto statement = Read(names, of_keys, softmax, of_values, map);
    if (!statement) names.ForgetViews(views);
    return statement;
  };
  if (auto statement = read(scores, outer)) return statement;
  // Batches that the products saw as one dimension and the softmax, with its mask, as two.
  std::vector<IndexVar> batches, space;
  for (std::size_t d = 0; d + 1 < softmax.space.size(); ++d) {
    space.push_back(NewIndex(softmax.space[d].extent));
    batches.push_back(NewIndex(softmax.space[d].extent));
  }
  space.push_back(NewIndex(softmax.space.back().extent));
  batches.push_back(NewIndex(outer.space.back().extent));
  auto scores_apart = OverSpace(scores, space), outer_apart = OverSpace(outer, batches);
  const bool apart = scores_apart && outer_apart;
  if (apart) {
    if (auto statement = read(*scores_apart, *outer_apart)) return statement;
  }
  // Or that one operator saw as one dimension and the other as two.
  MergeDimensions(names.memory(), scores);
  MergeDimensions(names.memory(), outer);
  if (auto statement = read(scores, outer)) return statement;
  // One query a head: what has one element is no dimension of theirs any more.
  softmax = WithOneRow(std::move(softmax));
  if (auto statement = read(WithOneRow(std::move(scores)), WithOneRow(std::move(outer)))) return statement;
  return apart ? read(WithOneRow(std::move(*scores_apart)), WithOneRow(std::move(*outer_apart))) : std::nullopt;
}

}  // namespace

HONE_ROW(Recogniser){.name = "attention", .form = Form::kAround, .place = 10, .recognise = RecogniseAttention};

}  // namespace hone::expert::recogniser_attention
