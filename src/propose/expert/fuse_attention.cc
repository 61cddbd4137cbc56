// Attention: two products and the softmax between them as one piece, with what is added to its scores and what moves
// its result.
#include <algorithm>
#include <utility>

#include "propose/expert/fuser.h"
#include "propose/expert/held_rows.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

// Where a product with the exponentials of rows is divided by their sums, they are divided before it: then they are a
// softmax.
void Fuser::DivideWeights() {
  for (std::size_t p = 0; p < pieces_.size(); ++p) {
    if (!known_[p].alive || !IsProduct(pieces_[p]) || !pieces_[p].inside.empty()) continue;
    for (const int read : std::vector<int>(known_[p].reads)) {
      const int maker = maker_[Id(read)];
      if (maker >= 0 && maker < static_cast<int>(p) && DivideWeights(p, Id(maker))) break;
    }
  }
}

// Whether `sum` is that of weights that the product reads. The sum takes the place of what made those, and what is made
// of both that of the sum.
bool Fuser::DivideWeights(std::size_t product, std::size_t sum) {
  const Piece& row = pieces_[sum];
  if (!row.fold || row.fold->op != ReduceOp::kSum || row.fold->over.size() != 1 || !row.statistics.empty() ||
      row.fold->body->kind != Expr::Kind::kLoad || memory_.IsOutput(row.buffer) ||
      Readers(row.buffer) != std::vector<std::size_t>{product})
    return false;
  const int weights = memory_.Root(row.fold->body->buffer), maker = maker_[Id(weights)];
  if (maker < 0 || static_cast<std::size_t>(maker) >= sum || memory_.IsOutput(weights)) return false;
  const auto at = static_cast<std::size_t>(maker);
  const Piece& map = pieces_[at];
  std::vector<IndexVar> elements = row.space;
  elements.push_back(row.fold->over[0]);
  const auto readers = Readers(weights);
  if (!IsSimpleMap(at) || !IsUnary(map.value, UnaryOp::kExp) || readers.size() != 2 ||
      std::find(readers.begin(), readers.end(), product) == readers.end() ||
      memory_.Position(*row.fold->body) != OwnPosition(elements) || map.space.empty() ||
      map.space.back().extent != row.fold->over[0].extent)
    return false;
  // Each row of the product is divided by the sum of the row that it reads.
  const std::int64_t columns = map.space.back().extent;
  std::optional<Affine> read;
  for (const FlatLoad& load : memory_.Loads(pieces_[product].fold->body)) {
    if (load.buffer != weights) continue;
    if (read || !load.position) return false;
    read = load.position;
  }
  const IndexVar over = pieces_[product].fold->over[0];
  if (!read || read->of(over) != 1) return false;
  read->coefficient.erase(over.id);
  Piece changed = pieces_[product];
  bool fits = true;
  changed.fold->finish = Rewrite(changed.fold->finish, [&](const Expr& e) -> Expr {
    if (!IsBinary(e, BinaryOp::kDiv) || !IsValue(e->operands[0], kIt) || !LoadsBuffer(e->operands[1], row.buffer) ||
        e->operands[1]->kind != Expr::Kind::kLoad)
      return {};
    const auto position = memory_.Position(*e->operands[1]);
    fits &= position && Combine(Affine{}, *position, columns) == *read;
    return Value({NamedValue::Kind::kText, 0}, ScalarType::kReal);
  });
  if (!fits || UsesValue(changed.fold->finish, kIt) || LoadsBuffer(changed.fold->finish, row.buffer)) return false;
  changed.fold->finish =
      ReplaceValue(changed.fold->finish, {NamedValue::Kind::kText, 0}, Value(kIt, ScalarType::kReal));
  auto summed = Inlined(pieces_[at], row);
  if (!summed) return false;
  EachExpr(std::as_const(*summed), [&](const Expr& expr) {
    for (const FlatLoad& load : memory_.Loads(expr)) fits &= maker_[Id(load.buffer)] < maker;
  });
  if (!fits) return false;
  Piece divided = map;
  const std::vector<IndexVar> rows(map.space.begin(), map.space.end() - 1);
  divided.value = map.value / Load(row.buffer, {ToExpr(OwnPosition(rows), rows)}, ScalarType::kReal);
  maker_[Id(row.buffer)] = maker;
  maker_[Id(weights)] = static_cast<int>(sum);
  pieces_[at] = std::move(*summed);
  pieces_[sum] = std::move(divided);
  pieces_[product] = std::move(changed);
  for (const std::size_t one : {at, sum, product}) Learn(one);
  return true;
}

// A product that the end of `scores` reads at its own place, and nobody else, goes inside of it, over the same indices.
// Whether the end adds both up, so that they are one of rows in two parts, is for the recogniser to see.
void Fuser::GroupPart(std::size_t scores) {
  for (const FlatLoad& load : memory_.Loads(pieces_[scores].fold->finish)) {
    const int maker = maker_[Id(load.buffer)];
    if (maker < 0 || memory_.IsOutput(load.buffer) || load.position != OwnPosition(pieces_[scores].space) ||
        Readers(load.buffer) != std::vector<std::size_t>{scores} ||
        LoadsBuffer(pieces_[scores].fold->body, load.buffer))
      continue;
    const Piece& other = pieces_[Id(maker)];
    auto second = IsProduct(other) && other.inside.empty() ? OverSpace(other, pieces_[scores].space) : std::nullopt;
    if (!second) continue;
    pieces_[scores].inside = {std::move(*second)};
    Kill(Id(maker));
    Learn(scores);
    return;
  }
}

namespace {

// Where an expression's choices cut the index in two, from which on they are others; 0: nowhere.
std::int64_t CutOf(const Expr& expr, const IndexVar& index) {
  std::int64_t cut = 0;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kBinary || (node.binary != BinaryOp::kLess && node.binary != BinaryOp::kLessEqual))
      return;
    const Expr a = WithoutWholeCasts(node.operands[0]), b = WithoutWholeCasts(node.operands[1]);
    const auto is_index = [&](const Expr& e) { return e->kind == Expr::Kind::kIndex && e->index.id == index.id; };
    const bool less = node.binary == BinaryOp::kLess;
    std::int64_t at = 0;
    if (is_index(b) && a->kind == Expr::Kind::kConst) at = static_cast<std::int64_t>(NumberOf(*a)) + (less ? 1 : 0);
    if (is_index(a) && b->kind == Expr::Kind::kConst) at = static_cast<std::int64_t>(NumberOf(*b)) + (less ? 0 : 1);
    if (at > 0 && at < index.extent) cut = at;
  });
  return cut;
}

}  // namespace

// Scores of rows that maps put together of two parts become those of the first parts, with the product of the second
// ones inside, which has no buffer: the end is that of their sum. What the maps make need not be in memory then.
void Fuser::SplitRows(std::size_t scores) {
  if (pieces_[scores].fold->over.size() != 1) return;
  const IndexVar over = pieces_[scores].fold->over[0];
  Piece whole = pieces_[scores];
  std::vector<std::size_t> maps;
  for (const FlatLoad& load : memory_.Loads(whole.fold->body)) {
    const int maker = maker_[Id(load.buffer)];
    if (maker < 0 || !IsSimpleMap(Id(maker))) continue;
    if (auto inlined = Inlined(pieces_[Id(maker)], whole)) {
      whole = std::move(*inlined);
      maps.push_back(Id(maker));
    }
  }
  const std::int64_t cut = CutOf(whole.fold->body, over);
  if (cut == 0) return;
  const auto part = [&](std::int64_t first, std::int64_t count) -> std::optional<Piece> {
    Piece made = whole;
    const IndexVar own = NewIndex(count);
    made.fold->over = {own};
    made.fold->body = Simplify(
        Substitute(whole.fold->body, [&](const IndexVar& v) { return v.id == over.id ? Expr(own) + first : Expr(); }));
    const Expr& body = made.fold->body;
    const bool of_loads = IsBinary(body, BinaryOp::kMul) && body->operands[0]->kind == Expr::Kind::kLoad &&
                          body->operands[1]->kind == Expr::Kind::kLoad;
    return of_loads ? std::optional(std::move(made)) : std::nullopt;
  };
  auto front = part(0, cut), back = part(cut, over.extent - cut);
  if (!front || !back) return;
  back->buffer = -1;
  back->fold->finish = Value(kIt, ScalarType::kReal);
  front->inside = {std::move(*back)};
  pieces_[scores] = std::move(*front);
  Learn(scores);
  for (const std::size_t map : maps) {
    if (Readers(pieces_[map].buffer).empty() && !memory_.IsOutput(pieces_[map].buffer)) Kill(map);
  }
}

// Of a product that reads as `between` what another's result became: whether no parameter is multiplied, as where that
// is scores of queries and keys. Two layers stay two products, which each make the most of a device, also where their
// weights are looked up.
bool Fuser::WeighsByScores(std::size_t product, int between, std::size_t scores) const {
  const auto is_data = [&](const FlatLoad& load) {
    const int maker = maker_[Id(load.buffer)];
    const bool moves = maker >= 0 && IsSimpleMap(Id(maker)) && pieces_[Id(maker)].value->kind == Expr::Kind::kLoad;
    const int root = moves ? memory_.Root(pieces_[Id(maker)].value->buffer) : load.buffer;
    const Buffer& read = memory_.graph().buffers()[Id(root)];
    return read.stage >= 0 || memory_.graph().problem().tensors[Id(read.tensor)].role != Role::kParameter;
  };
  return LoadsBuffer(pieces_[product].fold->body, between) && !LoadsBuffer(pieces_[product].fold->finish, between) &&
         std::ranges::all_of(memory_.Loads(pieces_[product].fold->body), is_data) &&
         std::ranges::all_of(memory_.Loads(pieces_[scores].fold->body), is_data);
}

// A product of what a norm made of a product, both read by nobody else; or of what a map made of that with a column
// more; and the logarithm of the sum of a row's exponentials beside it; or of such a product's own result, with the sum
// of its rows. Whether the norm is a softmax, the column a sink and the rows the same is for the recogniser to see.
void Fuser::GroupAttention() {
  const auto only = [&](int buffer, std::size_t reader) -> std::optional<std::size_t> {
    const int maker = maker_[Id(buffer)];
    if (maker < 0 || memory_.IsOutput(buffer) || Readers(buffer) != std::vector<std::size_t>{reader})
      return std::nullopt;
    return static_cast<std::size_t>(maker);
  };
  const auto product_of = [&](std::size_t reader) -> std::optional<std::size_t> {
    for (const int read : known_[reader].reads) {
      const auto product = only(read, reader);
      if (product && IsProduct(pieces_[*product])) return product;
    }
    return std::nullopt;
  };
  // A map of such a product, of a column more.
  const auto column_more = [&](std::size_t norm) -> std::optional<std::size_t> {
    for (const int read : known_[norm].reads) {
      const auto map = only(read, norm);
      const auto product = map && IsSimpleMap(*map) ? product_of(*map) : std::nullopt;
      if (!product || pieces_[*map].space.empty()) continue;
      const std::int64_t columns = pieces_[*map].space.back().extent;
      if (known_[*map].count / columns * (columns - 1) == ElementCount(Extents(pieces_[*product].space))) return map;
    }
    return std::nullopt;
  };
  // The product that a norm reads and the logarithm of a row's sum, which nobody but the end of `reader` reads.
  const auto with_log_sum = [&](std::size_t norm,
                                std::size_t reader) -> std::optional<std::pair<std::size_t, std::size_t>> {
    for (const int read : known_[norm].reads) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read) || !IsProduct(pieces_[Id(maker)])) continue;
      auto readers = Readers(read);
      std::erase(readers, norm);
      if (readers.size() != 1 || !pieces_[readers[0]].fold || !EndOfLogSum(pieces_[readers[0]])) continue;
      const int made = pieces_[readers[0]].buffer;
      if (only(made, reader) && !LoadsBuffer(pieces_[reader].fold->body, made)) return std::pair(Id(maker), readers[0]);
    }
    return std::nullopt;
  };
  // Scores that `reader` weighs by as they are, or over the sum of their row, which its end divides by, or a norm has.
  const auto weights = [&](int read, std::size_t reader) -> std::vector<std::size_t> {
    const int maker = maker_[Id(read)];
    if (maker < 0 || memory_.IsOutput(read) || !pieces_[reader].inside.empty()) return {};
    const auto at = static_cast<std::size_t>(maker);
    auto readers = Readers(read);
    std::erase(readers, reader);
    const auto product = pieces_[at].statistics.size() == 1 && readers.empty() ? product_of(at) : std::nullopt;
    if (product && WeighsByScores(reader, read, *product)) return {*product, at};
    if (!IsProduct(pieces_[at]) || !pieces_[at].inside.empty() || !WeighsByScores(reader, read, at)) return {};
    if (readers.empty()) return {at};
    const Piece& sum = pieces_[readers[0]];
    const bool of_rows = readers.size() == 1 && sum.fold && sum.fold->op == ReduceOp::kSum &&
                         only(sum.buffer, reader) && !LoadsBuffer(pieces_[reader].fold->body, sum.buffer);
    return of_rows ? std::vector{at, readers[0]} : std::vector<std::size_t>{};
  };
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsProduct(pieces_[i])) continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const auto norm = only(read, i);
      std::vector<std::size_t> inside;
      const bool softmax = norm && pieces_[*norm].statistics.size() == 2;
      if (!softmax) {
        inside = weights(read, i);
      } else if (const auto product = product_of(*norm)) {
        inside = {*product, *norm};
      } else if (const auto map = column_more(*norm)) {
        inside = {*product_of(*map), *map, *norm};
      } else if (const auto both = with_log_sum(*norm, i)) {
        inside = {both->first, both->second, *norm};
      }
      if (inside.empty()) continue;
      if (softmax) GroupPart(inside[0]);
      if (softmax && parts_ && pieces_[inside[0]].inside.empty()) SplitRows(inside[0]);
      for (const std::size_t part : inside) pieces_[i].inside.push_back(pieces_[part]);
      for (const std::size_t part : inside) Kill(part);
      Learn(i);
      break;
    }
    if (!pieces_[i].inside.empty()) GroupPages(GroupMove(i));
  }
}

// A map that does nothing but move what attention made, and is all that reads it. Whether it lays heads side by side
// is for the recogniser to see. Gives the piece that attention is in then.
std::size_t Fuser::GroupMove(std::size_t attention) {
  const auto readers = Readers(pieces_[attention].buffer);
  if (readers.size() != 1 || memory_.IsOutput(pieces_[attention].buffer)) return attention;
  const std::size_t map = readers[0];
  if (!IsSimpleMap(map) || !known_[map].plain || pieces_[map].value->kind != Expr::Kind::kLoad) return attention;
  pieces_[map].inside = {pieces_[attention]};
  Kill(attention);
  Learn(map);
  return map;
}

// Maps that look up what it reads, or make it of what is of 8 bits, for it alone; and those that look that up, which
// come first. Queries are made once.
void Fuser::GroupPages(std::size_t attention) {
  const Piece& outer = pieces_[attention].is_map() ? pieces_[attention].inside[0] : pieces_[attention];
  const Piece& scores = outer.inside[0];
  const auto is_query = [&](int buffer) {
    return scores.fold && !scores.space.empty() &&
           std::ranges::any_of(memory_.Loads(scores.fold->body), [&](const FlatLoad& load) {
             return load.buffer == buffer && load.position && load.position->of(scores.space.back()) == 0;
           });
  };
  std::vector<Piece> grouped;
  for (const int read : std::vector<int>(known_[attention].reads)) {
    const int maker = maker_[Id(read)];
    if (maker < 0 || memory_.IsOutput(read) || !IsSimpleMap(Id(maker)) || Readers(read).size() != 1) continue;
    const Piece& map = pieces_[Id(maker)];
    const bool looks_up = !known_[Id(maker)].plain && map.value->kind == Expr::Kind::kLoad;
    if (!looks_up && (!known_[Id(maker)].plain || is_query(read) || !ScalesEightBits(memory_, map))) continue;
    grouped.push_back(pieces_[Id(maker)]);
    Kill(Id(maker));
  }
  if (grouped.empty()) return Learn(attention);
  auto& all = pieces_[attention].looked_up;
  all.insert(all.begin(), grouped.begin(), grouped.end());
  Learn(attention);
  GroupPages(attention);
}

}  // namespace hone::expert
