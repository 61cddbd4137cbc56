// A product whose left operand is the softmax of another, or of the sum of two: attention; or what is made of another
// element by element, itself or over the sums of its rows. Rows of the softmax may have
// a column more, a sink that takes its part and that no value belongs to: of a row whose exponentials add up to exp(l),
// the other columns have exp(l) / (exp(l) + exp(sink)) of what they would have without it, the sigmoid of l - sink.
#include <algorithm>
#include <cmath>

#include "propose/expert/held_rows.h"
#include "propose/expert/hidden_keys.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pages.h"
#include "propose/expert/recognise/recognise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert::recogniser_attention {
namespace {

// What softmax(x) is of, if the norm is that and nothing more; `safe`: rows of nothing but -inf become zeros. With a
// sink `space` and what the softmax is of are without its column.
// Without a softmax `of` is the weight itself.
struct Softmax {
  int buffer = -1;
  std::vector<IndexVar> space;
  Expr of;
  bool safe = false;
  Expr sink = {};                        // over `space`, the same along its last dimension; null if there is none
  std::optional<Piece> of_row_sum = {};  // a map of a row's sum, or its logarithm, that the end reads
  bool is_softmax = true;
  Expr over = {};   // what the weights are divided by, of a row's sum; null if they are not, or it is in the softmax
  Expr times = {};  // what the weights are multiplied with behind it, as the scales of values; null if they are not
};
std::optional<Softmax> SoftmaxWithSink(const Piece& norm);
std::optional<Softmax> SoftmaxAlone(const Piece& norm);
std::optional<Softmax> SoftmaxOf(const Piece& norm) {
  if (auto made = SoftmaxAlone(norm)) return made;
  Piece without = norm;
  for (const std::size_t i : {0, 1}) {
    if (!norm.value || !IsBinary(norm.value, BinaryOp::kMul)) break;
    without.value = norm.value->operands[i];
    auto made = SoftmaxAlone(without);
    if (made) made->times = norm.value->operands[1 - i];
    if (made) return made;
  }
  return std::nullopt;
}

std::optional<Softmax> SoftmaxAlone(const Piece& norm) {
  if (norm.statistics.size() != 2 || norm.axes != std::vector<int>{static_cast<int>(norm.space.size()) - 1})
    return std::nullopt;
  const Fold &most = *norm.statistics[0].fold, &sum = *norm.statistics[1].fold;
  const auto read = [](const Piece& statistic) { return Load(statistic.buffer, {Expr(0)}, ScalarType::kReal); };
  const Expr shifted = most.body - read(norm.statistics[0]), total = read(norm.statistics[1]);
  if (most.op != ReduceOp::kMax || sum.op != ReduceOp::kSum) return std::nullopt;
  if (!IsValue(sum.finish, kIt) || !SameExpr(sum.body, Exp(shifted))) return SoftmaxWithSink(norm);
  const Expr it = Value(kIt, ScalarType::kReal), weight = Exp(shifted) / total;
  Softmax made{.buffer = norm.buffer, .space = norm.space, .of = most.body};
  if (IsValue(most.finish, kIt) && SameExpr(norm.value, weight)) return made;
  made.safe = true;
  if (SameExpr(most.finish, Select(Equal(it, -INFINITY), 0.0, it)) &&
      SameExpr(norm.value, Select(Equal(total, 0.0), 0.0, weight)))
    return made;
  return std::nullopt;
}

// The weights exp(x - m) / (sum of exp(x - m) + exp(sink - m)), m the largest of the row and the sink.
std::optional<Softmax> SoftmaxWithSink(const Piece& norm) {
  const Fold &most = *norm.statistics[0].fold, &sum = *norm.statistics[1].fold;
  const auto with = [](const Expr& expr, const Piece& statistic, const Expr& made) {
    return ReplaceLoads(expr, [&](const ExprNode& load) { return load.buffer == statistic.buffer ? made : Expr(); });
  };
  const Expr largest = ReplaceValue(most.finish, kIt, Value(LetValue(0), ScalarType::kReal));
  const Expr total =
      with(ReplaceValue(sum.finish, kIt, Value(LetValue(1), ScalarType::kReal)), norm.statistics[0], largest);
  const Expr weight = with(sum.body, norm.statistics[0], largest);
  if (!IsBinary(largest, BinaryOp::kMax) || !IsBinary(total, BinaryOp::kAdd) ||
      !SameExpr(weight, Exp(most.body - largest)) ||
      !SameExpr(with(with(norm.value, norm.statistics[0], largest), norm.statistics[1], total), weight / total))
    return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const Expr& sink = largest->operands[i];
    if (!IsValue(largest->operands[1 - i], LetValue(0))) continue;
    for (const std::size_t j : {0, 1}) {
      if (IsValue(total->operands[j], LetValue(1)) && SameExpr(total->operands[1 - j], Exp(sink - largest)))
        return Softmax{.buffer = norm.buffer, .space = norm.space, .of = most.body, .safe = true, .sink = sink};
    }
  }
  return std::nullopt;
}

// What the piece's element would be at the places of another that has the same elements, over that one's indices.
std::optional<Expr> ElementOver(const Memory& memory, const std::vector<IndexVar>& space, const Expr& value,
                                const std::vector<IndexVar>& at) {
  Piece read;
  read.space = space;
  read.value = value;
  return ElementAt(memory, read, OwnPosition(at), at);
}

// The softmax of what `map` makes, without the sink in the first or last column of that, and `outer` as it reads that;
// nothing if its columns are no scores and a sink that `outer` leaves out.
std::optional<std::pair<Softmax, Piece>> WithoutSink(const Memory& memory, const Softmax& softmax, const Piece& map,
                                                     const Piece& scores, const Piece& outer) {
  const IndexVar columns = map.space.back(), folded = outer.fold->over[0];
  const std::int64_t keys = columns.extent - 1;
  const auto of = ElementOver(memory, softmax.space, softmax.of, map.space);
  if (softmax.safe || keys < 1 || outer.fold->over.size() != 1 || folded.extent != keys || !of ||
      (*of)->kind != Expr::Kind::kLoad || memory.Root((*of)->buffer) != map.buffer ||
      memory.Position(**of) != OwnPosition(map.space))
    return std::nullopt;
  // Which columns are read, of rows that lie one behind the other.
  std::vector<IndexVar> vars = outer.space;
  vars.push_back(folded);
  std::optional<std::int64_t> first;
  bool fits = true;
  Piece cut = outer;
  cut.fold->body = ReplaceLoads(outer.fold->body, [&](const ExprNode& load) -> Expr {
    if (memory.Root(load.buffer) != softmax.buffer) return {};
    const auto position = memory.Position(load);
    fits &= position && position->of(folded) == 1 && (position->constant == 0 || position->constant == 1);
    if (!fits) return {};
    first = position->constant;
    Affine dense{.coefficient = {{folded.id, 1}}};
    for (const auto& [id, step] : position->coefficient) {
      if (id == folded.id) continue;
      fits &= step % columns.extent == 0;
      dense.coefficient[id] = step / columns.extent * keys;
    }
    return Load(softmax.buffer, {ToExpr(dense, vars)}, load.type);
  });
  if (!fits || !first) return std::nullopt;
  const IndexVar key = NewIndex(keys);
  const auto at = [&](const Expr& column) {
    return Simplify(Substitute(map.value, [&](const IndexVar& var) { return var.id == columns.id ? column : Expr(); }));
  };
  Softmax made = softmax;
  made.space = map.space;
  made.space.back() = key;
  made.of = at(Expr(key) + *first);
  made.sink = at(*first == 0 ? keys : 0);
  made.safe = true;  // a row that sees nothing gives all to the sink
  Visit(made.sink, [&](const ExprNode& node) {
    fits &= node.kind != Expr::Kind::kLoad || memory.Root(node.buffer) != scores.buffer;
  });
  return fits ? std::optional(std::pair(std::move(made), std::move(cut))) : std::nullopt;
}

// What `sum` makes of the sum of a row's weights, of a softmax of the logarithm of that of its exponentials, as a map
// of it; nothing if it is not of the rows of the softmax.
std::optional<Piece> OfRowSum(const Memory& memory, const Softmax& softmax, const Piece& sum) {
  std::vector<IndexVar> elements = sum.space;
  elements.insert(elements.end(), sum.fold->over.begin(), sum.fold->over.end());
  const auto of = ElementOver(memory, softmax.space, softmax.of, elements);
  const auto end = softmax.is_softmax               ? EndOfLogSum(sum)
                   : sum.fold->op == ReduceOp::kSum ? std::optional(sum.fold->finish)
                                                    : std::nullopt;
  if (!of || !end || !SameExpr(memory.Flat(*of), memory.Flat(sum.fold->body))) return std::nullopt;
  Piece made;
  made.buffer = sum.buffer;
  made.space = sum.space;
  made.value = ReplaceValue(*end, kIt, Value(kRowSum, ScalarType::kReal));
  return made;
}

// Scores of a product as weights: as they are, or as a norm divides them by what it makes of the sum of their row.
std::optional<Softmax> ScoresAsWeights(const Piece& scores, const Piece* norm) {
  Softmax weights{.buffer = scores.buffer, .space = scores.space, .of = {}, .is_softmax = false};
  weights.of = Load(scores.buffer, {ToExpr(OwnPosition(scores.space), scores.space)}, ScalarType::kReal);
  if (norm == nullptr) return weights;
  const Fold& sum = *norm->statistics[0].fold;
  if (norm->statistics.size() != 1 || sum.op != ReduceOp::kSum ||
      norm->axes != std::vector<int>{static_cast<int>(norm->space.size()) - 1} ||
      !IsBinary(norm->value, BinaryOp::kDiv) || !SameExpr(norm->value->operands[0], sum.body))
    return std::nullopt;
  weights.buffer = norm->buffer;
  weights.space = norm->space;
  weights.of = sum.body;
  const Expr of_sum = ReplaceValue(sum.finish, kIt, Value(kRowSum, ScalarType::kReal));
  weights.over = ReplaceLoads(norm->value->operands[1], [&](const ExprNode& load) {
    return load.buffer == norm->statistics[0].buffer ? of_sum : Expr();
  });
  return weights;
}

// The end of `outer` with that where it reads it, in each row that of its own.
std::optional<Expr> WithOwnRowSum(const Memory& memory, const Piece& outer, const Piece& of_row_sum) {
  const std::vector<IndexVar> rows(outer.space.begin(), outer.space.end() - 1);
  bool fits = ElementCount(Extents(rows)) == ElementCount(Extents(of_row_sum.space));
  Expr end = ReplaceLoads(outer.fold->finish, [&](const ExprNode& load) -> Expr {
    if (memory.Root(load.buffer) != of_row_sum.buffer) return {};
    const auto element = ElementAt(memory, of_row_sum, load);
    fits &= element && memory.Position(load) == OwnPosition(rows);
    return element.value_or(Expr());
  });
  return fits ? std::optional(std::move(end)) : std::nullopt;
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

// The end of scores that read what `second` made, over the same indices, as one of the sum of both products: both are
// added up after the same was done to them. Where that has no buffer it is so already. Nothing if that is not all that
// is done with it.
std::optional<Expr> EndOfSum(const Memory& memory, const Piece& scores, const Piece& second) {
  if (second.buffer < 0) return scores.fold->finish;
  constexpr NamedValue kSecond{NamedValue::Kind::kText, 0};
  const Expr made = ReplaceValue(second.fold->finish, kIt, Value(kSecond, ScalarType::kReal));
  const Expr both = ReplaceLoads(scores.fold->finish, [&](const ExprNode& load) {
    return memory.Root(load.buffer) == second.buffer ? made : Expr();
  });
  const Expr end = Rewrite(both, [&](const Expr& e) -> Expr {
    if (!IsBinary(e, BinaryOp::kAdd)) return {};
    for (const std::size_t i : {0, 1}) {
      const Expr &first = e->operands[i], &other = e->operands[1 - i];
      if (UsesValue(first, kIt) && !UsesValue(first, kSecond) &&
          SameExpr(ReplaceValue(other, kSecond, Value(kIt, ScalarType::kReal)), first))
        return first;
    }
    return {};
  });
  return UsesValue(end, kSecond) ? std::nullopt : std::optional(end);
}

// Whether all that it reads is at places that its own say, and none looked up.
bool ReadsInSteps(const Memory& memory, const Piece& piece) {
  bool all = true;
  EachExpr(piece, [&](const Expr& expr) {
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) all &= memory.Position(node).has_value();
    });
  });
  return all;
}

// `map`: null, or what moves the result.
std::optional<dsl::Statement> Read(Names& names, const Piece& scores, const Softmax& softmax, const Piece& outer,
                                   const std::vector<Piece>& looked_up, const Piece* map) {
  const Memory& memory = names.memory();
  const std::size_t rank = scores.space.size();
  if (rank < 2 || outer.space.size() != rank || scores.fold->over.size() != 1 || outer.fold->over.size() != 1 ||
      outer.fold->body->operands.size() != 2)
    return std::nullopt;
  const auto load = [&](const Expr& e) {
    std::optional<FlatLoad> found;
    if (e->kind == Expr::Kind::kLoad && memory.Position(*e))
      found = FlatLoad{memory.Root(e->buffer), memory.Position(*e), e->type};
    return found;
  };
  auto p = load(outer.fold->body->operands[0]), v = load(outer.fold->body->operands[1]);
  if (!p || !v) return std::nullopt;
  if (p->buffer != softmax.buffer) std::swap(p, v);
  if (p->buffer != softmax.buffer) return std::nullopt;
  const IndexVar m = scores.space[rank - 2], n = scores.space[rank - 1];
  const IndexVar e = outer.space.back(), folded = outer.fold->over[0];
  // Whether rows are others at the index, over `space` and `along`.
  const auto moves = [&](const FlatLoad& rows, std::vector<IndexVar> space, IndexVar along, const IndexVar& index) {
    space.push_back(along);
    const auto held = HeldElement(memory, looked_up, rows, space);
    return held ? UsesIndex(*held, index.id) : rows.position->of(index) != 0;
  };
  // q and k of a product that makes scores.
  const auto sides = [&](const Fold& fold) -> std::optional<std::pair<FlatLoad, FlatLoad>> {
    if (fold.over.size() != 1 || fold.body->operands.size() != 2) return std::nullopt;
    const IndexVar d = fold.over[0];
    auto q = load(fold.body->operands[0]), k = load(fold.body->operands[1]);
    if (!q || !k) return std::nullopt;
    if (q->position->of(n) != 0) std::swap(q, k);
    if ((m.extent > 1 && q->position->of(m) == 0) || q->position->of(n) != 0 || k->position->of(n) == 0 ||
        moves(*k, scores.space, d, m) || q->position->of(d) == 0 || k->position->of(d) == 0)
      return std::nullopt;
    return std::pair(*q, *k);
  };
  const Piece* const second = scores.inside.empty() ? nullptr : &scores.inside[0];
  const auto first_sides = sides(*scores.fold), second_sides = second ? sides(*second->fold) : std::nullopt;
  const auto finish = second ? EndOfSum(memory, scores, *second) : std::optional(scores.fold->finish);
  if (!first_sides || (second && !second_sides) || !finish || v->position->of(folded) == 0 || v->position->of(e) == 0)
    return std::nullopt;
  // The probabilities are read where the scores are: [batch.., m, n] with n folded.
  std::vector<IndexVar> at(outer.space.begin(), outer.space.end() - 1);
  at.push_back(folded);
  if (Extents(at) != Extents(scores.space) || *p->position != OwnPosition(at) ||
      moves(*v, outer.space, folded, outer.space[rank - 2]))
    return std::nullopt;

  // What weights are multiplied with, of each key, or of none.
  const auto times = softmax.times ? ElementOver(memory, softmax.space, softmax.times, at) : std::optional<Expr>();
  const bool of_values = times && UsesIndex(*times, folded.id);
  if (softmax.times && !times) return std::nullopt;
  const auto view = [&](const FlatLoad& operand, const std::vector<IndexVar>& space, IndexVar row, IndexVar column) {
    return names.Matrix(operand.buffer, *operand.position, {space.begin(), space.end() - 2}, row, column);
  };
  const auto q_name = view(first_sides->first, scores.space, m, scores.fold->over[0]);
  std::vector<dsl::TermPtr> operands;
  std::optional<PagedKeys> pages;
  const auto rows = [&](const FlatLoad& operand, std::vector<IndexVar> space, IndexVar row,
                        IndexVar column) -> std::optional<dsl::TermPtr> {
    if (const auto name = view(operand, space, row, column)) return dsl::Name(*name);
    const IndexVar query = space[rank - 2];
    space[rank - 2] = row, space[rank - 1] = column;
    return HeldOperand(names, looked_up, operand, space, query);
  };
  const bool by_pages = std::ranges::any_of(looked_up, [&](const Piece& one) { return !ReadsInSteps(memory, one); });
  if (!by_pages) {
    const auto keys = rows(first_sides->second, scores.space, n, scores.fold->over[0]);
    auto values = rows(*v, outer.space, folded, e);
    if (values && of_values) values = TimesOfWeights(names, *times, outer.space, folded, *v, *values);
    if (!keys || !values) return std::nullopt;
    operands = {*keys, *values};
  } else {
    pages = ByPages(names, looked_up, first_sides->second, *v, second ? &second_sides->second : nullptr, scores, outer);
    if (!pages || of_values) return std::nullopt;
    operands = {pages->keys, pages->values, pages->table};
  }
  // The scores as the softmax reads them, over their own space.
  const auto score = ElementOver(memory, softmax.space, softmax.of, scores.space);
  if (!q_name || !score) return std::nullopt;
  bool own = true;
  Expr scaled = ReplaceLoads(*score, [&](const ExprNode& node) -> Expr {
    if (memory.Root(node.buffer) != scores.buffer) return {};
    own &= memory.Position(node) == OwnPosition(scores.space);
    return *finish;
  });
  if (!own) return std::nullopt;
  Expr end = outer.fold->finish;
  if (softmax.of_row_sum) {
    auto with = WithOwnRowSum(memory, outer, *softmax.of_row_sum);
    if (!with) return std::nullopt;
    end = std::move(*with);
  }
  if (softmax.over) {
    const auto over = ElementOver(memory, softmax.space, softmax.over, at);
    if (!over || UsesIndex(*over, folded.id)) return std::nullopt;
    end = ReplaceValue(end, kIt, Value(kIt, ScalarType::kReal) / *over);
  }
  if (times && !of_values) end = ReplaceValue(end, kIt, Value(kIt, ScalarType::kReal) * *times);
  if (softmax.sink) {
    const auto sink = ElementOver(memory, softmax.space, softmax.sink, at);
    if (!sink) return std::nullopt;
    const Expr it = Value(kIt, ScalarType::kReal);
    end = ReplaceValue(end, kIt, it * Sigmoid(Value(kRowSum, ScalarType::kReal) - *sink));
  }
  dsl::Statement statement;
  statement.family = "attention";
  statement.operands = {dsl::Name(*q_name)};
  statement.operands.insert(statement.operands.end(), operands.begin(), operands.end());
  if (second) {
    const IndexVar d = second->fold->over[0];
    const auto q = view(second_sides->first, scores.space, m, d);
    const auto k = pages ? std::nullopt : view(second_sides->second, scores.space, n, d);
    if (!q || (!k && !pages)) return std::nullopt;
    statement.operands.push_back(dsl::Name(*q));
    statement.operands.push_back(pages ? pages->more : dsl::Name(*k));
  }
  std::vector<IndexVar> made = outer.space;
  if (map) {
    const std::int64_t heads = HeadsOf(memory, *map, outer.space);
    if (heads == 0) return std::nullopt;
    statement.attributes["heads"] = {heads};
    made = BesideRows(made, static_cast<std::size_t>(heads));
  }
  statement.target_shape = Extents(made);
  scaled = MadeOfPlaces(memory, scaled, m, n);
  const double least = LeastScore(memory.graph().buffers()[static_cast<std::size_t>(scores.buffer)].dtype);
  if (const auto behind =
          softmax.is_softmax ? BehindCausal(scaled, m, n, least) : WeightBehindCausal(memory, scaled, m, n)) {
    statement.attributes["causal"] = {1};
    scaled = *behind;
  } else if (softmax.is_softmax) {
    scaled = WithHiddenKeys(scaled, m, n, least);
  }
  if (softmax.safe) statement.attributes["safe"] = {1};
  if (!softmax.is_softmax) statement.attributes["softmax"] = {0};
  if (!IsValue(scaled, kIt)) {
    auto term = names.Term(scaled, scores.space,
                           {.values = {{kIt, dsl::It()}},
                            .lets = {},
                            .indices = {{m.id, dsl::Call("query", {})}, {n.id, dsl::Call("key", {})}}});
    if (!term) return std::nullopt;
    statement.lets.push_back({names.Fresh("score"), std::move(*term), {}});
  }
  if (!AddEpilogue(names, statement, end, made,
                   {.values = {{kRowSum, dsl::Call(softmax.is_softmax ? "lse" : "total", {})}}, .lets = {}}))
    return std::nullopt;
  return statement;
}

// The dimensions with one of one element before the last.
void AddRow(std::vector<IndexVar>& space) { space.insert(space.end() - 1, NewIndex(1)); }
Piece WithOneRow(Piece piece) {
  AddRow(piece.space);
  return piece;
}

std::optional<dsl::Statement> RecogniseAttention(Names& names, const Piece& piece) {
  const Piece* const map = piece.is_map() && piece.inside.size() == 1 ? &piece : nullptr;
  Piece outer = map ? piece.inside[0] : piece;
  if (outer.inside.empty() || !outer.fold || !outer.inside[0].fold) return std::nullopt;
  // A number that weighs others has no rows.
  if (outer.space.empty() || outer.inside[0].space.empty() || outer.inside.back().space.empty()) return std::nullopt;
  const Piece &last = outer.inside.back(), *const norm = last.statistics.empty() ? nullptr : &last;
  Piece scores = outer.inside[0];
  auto weights = norm && norm->statistics.size() == 2 ? SoftmaxOf(*norm) : ScoresAsWeights(scores, norm);
  if (!weights) return std::nullopt;
  Softmax softmax = std::move(*weights);
  const bool sums = outer.inside.size() > 1 && outer.inside[1].fold;
  if (sums) {
    softmax.of_row_sum = OfRowSum(names.memory(), softmax, outer.inside[1]);
    if (!softmax.of_row_sum) return std::nullopt;
  } else if (outer.inside.size() == 3) {
    auto without = WithoutSink(names.memory(), softmax, outer.inside[1], scores, outer);
    if (!without) return std::nullopt;
    softmax = std::move(without->first);
    outer = std::move(without->second);
  }
  outer.inside.clear();
  const std::size_t views = names.views().size();
  const auto read = [&](const Piece& of_keys, const Piece& of_values) {
    auto statement = Read(names, of_keys, softmax, of_values, piece.looked_up, map);
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
  // Or that the scores alone have as several, with masks that a few of them share.
  batches.clear();
  for (std::size_t d = 0; d + 1 < scores.space.size(); ++d) batches.push_back(NewIndex(scores.space[d].extent));
  batches.push_back(NewIndex(outer.space.back().extent));
  if (auto as_scores = OverSpace(outer, batches)) {
    if (auto statement = read(scores, *as_scores)) return statement;
  }
  // Or that what is weighed alone has as several, as values that several heads share, one after the other.
  space.clear();
  for (std::size_t d = 0; d + 1 < outer.space.size(); ++d) space.push_back(NewIndex(outer.space[d].extent));
  space.push_back(NewIndex(scores.space.back().extent));
  if (auto as_outer = OverSpace(scores, space)) {
    if (auto statement = read(*as_outer, outer)) return statement;
  }
  // Or that one operator saw as one dimension and the other as two.
  if (!ReadsInSteps(names.memory(), scores) || !ReadsInSteps(names.memory(), outer)) return std::nullopt;
  MergeDimensions(names.memory(), scores);
  MergeDimensions(names.memory(), outer);
  if (auto statement = read(scores, outer)) return statement;
  // One query a head: what has one element is no dimension of theirs any more.
  AddRow(softmax.space);
  if (auto statement = read(WithOneRow(std::move(scores)), WithOneRow(std::move(outer)))) return statement;
  return apart ? read(WithOneRow(std::move(*scores_apart)), WithOneRow(std::move(*outer_apart))) : std::nullopt;
}

}  // namespace

HONE_ROW(Recogniser){.name = "attention", .form = Form::kAround, .place = 10, .recognise = RecogniseAttention};

}  // namespace hone::expert::recogniser_attention
