// Folds over the same indices, of which one reads the others: they go through the rows together.
#include <algorithm>
#include <cmath>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

bool Reads(const Memory& memory, const Expr& e, int buffer) {
  return e->kind == Expr::Kind::kLoad && memory.Root(e->buffer) == buffer;
}

// `fold` over the indices of `other`, if they go over the same rows in the same way.
std::optional<Piece> Over(const Piece& fold, const Piece& other) {
  if (Extents(fold.space) != Extents(other.space) || Extents(fold.fold->over) != Extents(other.fold->over))
    return std::nullopt;
  Piece moved = fold;
  EachExpr(moved, [&](Expr& expr) {
    expr = Substitute(expr, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < fold.space.size(); ++d) {
        if (fold.space[d].id == var.id) return Expr(other.space[d]);
      }
      for (std::size_t d = 0; d < fold.fold->over.size(); ++d) {
        if (fold.fold->over[d].id == var.id) return Expr(other.fold->over[d]);
      }
      return {};
    });
  });
  moved.space = other.space;
  moved.fold->over = other.fold->over;
  return moved;
}

// A sum of products that reads each number once, as a sum over a mask does, is no product of matrices.
bool IsSumOfRows(const Memory& memory, const Piece& piece) {
  return std::ranges::all_of(memory.Loads(piece.fold->body), [&](const FlatLoad& load) {
    return load.position && std::ranges::all_of(piece.space, [&](const IndexVar& var) {
             return var.extent == 1 || load.position->of(var) != 0;
           });
  });
}

bool Joins(const Memory& memory, const Piece& piece) {
  return piece.fold && piece.statistics.empty() && piece.inside.empty() && piece.fold->op <= ReduceOp::kMin &&
         (!IsContraction(memory, *piece.fold) || IsSumOfRows(memory, piece)) && !IsWindow(piece) &&
         IsPlain(memory, piece);
}

// More lets than this are no longer what a person would write as one kernel.
constexpr std::size_t kMostJoined = 8;

// The same of one that others may have joined before: each of them is known by its own buffer.
bool JoinsMore(const Memory& memory, const Piece& piece) {
  if (piece.statistics.size() > kMostJoined) return false;
  if (std::ranges::any_of(piece.statistics, [](const Piece& one) { return one.buffer < 0; })) return false;
  Piece alone = piece;
  alone.statistics.clear();
  return Joins(memory, alone);
}

bool HasStatistic(const Piece& piece, int buffer) {
  return std::ranges::any_of(piece.statistics, [&](const Piece& one) { return one.buffer == buffer; });
}

// The largest of a row, or 0 where that is infinite, as torch.logsumexp has it: which of the two is known by `is_top`.
bool IsBase(const Expr& e, const std::function<bool(const Expr&)>& is_top) {
  if (is_top(e)) return true;
  if (e->kind != Expr::Kind::kSelect || !is_top(e->operands[2])) return false;
  const Expr &is_infinite = e->operands[0], &zero = e->operands[1];
  if (is_infinite->kind != Expr::Kind::kBinary || is_infinite->binary != BinaryOp::kEqual || ConstantNumber(zero) != 0)
    return false;
  const Expr &size = is_infinite->operands[0], &infinity = is_infinite->operands[1];
  return size->kind == Expr::Kind::kUnary && size->unary == UnaryOp::kAbs && is_top(size->operands[0]) &&
         ConstantNumber(infinity) == INFINITY;
}

// Statistics are read without a position.
Expr Statistic(int buffer, ScalarType type) { return Load(buffer, {Expr(0)}, type); }

}  // namespace

std::optional<Piece> JoinFolds(const Memory& memory, const Piece& reader, const Piece& fold) {
  if (!JoinsMore(memory, reader) || !JoinsMore(memory, fold)) return std::nullopt;
  if (HasStatistic(reader, fold.buffer) || reader.statistics.size() + fold.statistics.size() >= kMostJoined)
    return std::nullopt;
  const Affine own = OwnPosition(reader.space);
  for (const auto& load : memory.Loads(reader.fold->body)) {
    if (load.buffer == fold.buffer) return std::nullopt;
  }
  Piece joined = reader;
  bool fits = true;
  // What is read of others that join the reader, each at its own place.
  const auto as_statistics = [&](const Expr& finish) {
    return ReplaceLoads(finish, [&](const ExprNode& load) -> Expr {
      const int root = memory.Root(load.buffer);
      if (!HasStatistic(joined, root)) return {};
      const bool is_one = load.operands.size() == 1 && ConstantNumber(load.operands[0]) == 0;
      const auto position = memory.Position(load);
      fits &= is_one || (position && *position == own);
      return Statistic(root, load.type);
    });
  };
  const auto add = [&](Piece statistic) {
    if (HasStatistic(joined, statistic.buffer)) return;
    statistic.statistics.clear();
    statistic.fold->finish = as_statistics(statistic.fold->finish);
    // A let finishes with numbers and other lets only.
    Visit(statistic.fold->finish, [&](const ExprNode& node) {
      fits &= node.kind != Expr::Kind::kLoad || HasStatistic(joined, memory.Root(node.buffer));
    });
    joined.statistics.push_back(std::move(statistic));
  };
  for (const Piece& one : fold.statistics) {
    auto moved = Over(one, reader);
    if (!moved) return std::nullopt;
    add(std::move(*moved));
  }
  auto moved = Over(fold, reader);
  if (!moved) return std::nullopt;
  add(std::move(*moved));
  joined.fold->finish = as_statistics(joined.fold->finish);
  return fits ? std::optional(std::move(joined)) : std::nullopt;
}

std::optional<Piece> LogSum(const Memory& memory, const Piece& largest, const Piece& sum) {
  if (!Joins(memory, largest) || !Joins(memory, sum)) return std::nullopt;
  if (largest.fold->op != ReduceOp::kMax || sum.fold->op != ReduceOp::kSum ||
      !IsBase(largest.fold->finish, [](const Expr& e) { return IsValue(e, kIt); }))
    return std::nullopt;
  auto top = Over(largest, sum);
  const Expr& power = sum.fold->body;
  if (!top || power->kind != Expr::Kind::kUnary || power->unary != UnaryOp::kExp) return std::nullopt;
  const Expr& distance = power->operands[0];
  const auto is_top = [&](const Expr& e) {
    return Reads(memory, e, largest.buffer) && memory.Position(*e) == OwnPosition(sum.space);
  };
  if (distance->kind != Expr::Kind::kBinary || distance->binary != BinaryOp::kSub ||
      !SameExpr(distance->operands[0], top->fold->body) || !IsBase(distance->operands[1], is_top))
    return std::nullopt;
  const ScalarType type = ScalarType::kReal;
  const auto with = [&](const Expr& expr, const Expr& in_place_of_top) {
    return ReplaceLoads(expr, [&](const ExprNode& load) {
      return memory.Root(load.buffer) == largest.buffer ? ReplaceValue(largest.fold->finish, kIt, in_place_of_top)
                                                        : Expr();
    });
  };
  Piece inside = sum;
  inside.buffer = -1;
  inside.fold->body = Exp(distance->operands[0] - with(distance->operands[1], Statistic(largest.buffer, type)));
  inside.fold->finish = Value(kIt, type);
  Piece made = *top;
  made.buffer = sum.buffer;
  const Expr it = Value(kIt, type), summed = Value(kInside, type);
  top->fold->finish = it;
  if (IsValue(sum.fold->finish, kIt)) {
    made.fold->finish = with(distance->operands[1], it) + Log(summed);
  } else {
    // Whoever takes the logarithm is its end already.
    bool at_own_place = true;
    for (const auto& load : memory.Loads(sum.fold->finish))
      at_own_place &= load.buffer != largest.buffer || load.position == OwnPosition(sum.space);
    if (!at_own_place) return std::nullopt;
    made.fold->finish = with(ReplaceValue(sum.fold->finish, kIt, summed), it);
  }
  made.statistics = {std::move(*top), std::move(inside)};
  return made;
}

namespace {

bool IsLogSum(const Piece& piece) {
  if (!piece.fold || piece.statistics.size() != 2 || piece.statistics[1].buffer >= 0) return false;
  const Expr& body = piece.statistics[1].fold->body;
  return body->kind == Expr::Kind::kUnary && body->unary == UnaryOp::kExp;
}

}  // namespace

std::optional<std::pair<Piece, Piece>> LogSumApart(const Piece& piece) {
  if (!IsLogSum(piece)) return std::nullopt;
  Piece largest = piece.statistics[0], sum = piece.statistics[1];
  const auto top = [&](ScalarType type) {
    return Load(largest.buffer, {ToExpr(OwnPosition(largest.space), largest.space)}, type);
  };
  sum.buffer = piece.buffer;
  sum.fold->body = ReplaceLoads(
      sum.fold->body, [&](const ExprNode& load) { return load.buffer == largest.buffer ? top(load.type) : Expr(); });
  sum.fold->finish = ReplaceValues(piece.fold->finish, [&](const ExprNode& value) -> Expr {
    if (value.value == kIt) return top(value.type);
    return value.value == kInside ? Value(kIt, value.type) : Expr();
  });
  return std::pair(std::move(largest), std::move(sum));
}

std::optional<Expr> EndOfLogSum(const Piece& piece) {
  if (!IsLogSum(piece)) return std::nullopt;
  const auto is_top = [](const Expr& e) { return IsValue(e, kIt); };
  const Expr all = Value({NamedValue::Kind::kText, 0}, ScalarType::kReal);
  const Expr end = Rewrite(piece.fold->finish, [&](const Expr& e) -> Expr {
    if (e->kind != Expr::Kind::kBinary || e->binary != BinaryOp::kAdd) return {};
    for (const std::size_t first : {0, 1}) {
      const Expr &base = e->operands[first], &log = e->operands[1 - first];
      if (!IsBase(base, is_top) || log->kind != Expr::Kind::kUnary || log->unary != UnaryOp::kLog ||
          !IsValue(log->operands[0], kInside))
        continue;
      // What is infinite less itself is no number.
      return is_top(base) ? Select(Equal(Abs(all), Expr(INFINITY)), Expr(NAN), all) : all;
    }
    return {};
  });
  bool left = false;
  Visit(end, [&](const ExprNode& node) {
    left |= node.kind == Expr::Kind::kValue && (node.value == kIt || node.value == kInside);
  });
  if (left) return std::nullopt;
  return ReplaceValues(end, [&](const ExprNode& value) {
    return value.value.kind == NamedValue::Kind::kText ? Value(kIt, ScalarType::kReal) : Expr();
  });
}

namespace {

// Loads of elements by their places alone, so that the same are the same however they are seen.
Expr ByPlaces(const Memory& memory, const Expr& expr, std::vector<IndexVar> vars, const IndexVar& over) {
  vars.push_back(over);
  return ReplaceLoads(expr, [&](const ExprNode& load) {
    const auto position = memory.Position(load);
    return position ? Load(memory.Root(load.buffer), {ToExpr(*position, vars)}, load.type) : Expr();
  });
}

}  // namespace

bool IsSameLogSum(const Memory& memory, const Piece& a, const Piece& b) {
  if (!IsLogSum(a) || !IsLogSum(b)) return false;
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const auto moved = OverSpace(*one, other->space);
    if (!moved || moved->fold->over.size() != 1 || Extents(moved->fold->over) != Extents(other->fold->over)) continue;
    const IndexVar& over = other->fold->over[0];
    const Expr body = InIndices(moved->fold->body, moved->fold->over, other->fold->over);
    return SameExpr(ByPlaces(memory, body, other->space, over),
                    ByPlaces(memory, other->fold->body, other->space, over));
  }
  return false;
}

Expr OnlyLogSum() {
  const Expr it = Value(kIt, ScalarType::kReal);
  return Select(Equal(Abs(it), Expr(INFINITY)), Expr(0.0), it) + Log(Value(kInside, ScalarType::kReal));
}

std::optional<Expr> WithLogSum(const Memory& memory, const Expr& expr, int largest, int sum, OfLogSum taken) {
  std::vector<Expr> found;  // what LogSum makes, by the number of the text that stands for it
  const auto is = [](const Expr& e, BinaryOp op) { return e->kind == Expr::Kind::kBinary && e->binary == op; };
  // The logarithm, marked, so that what else reads the two is seen; nothing if they are not read at the same place.
  const auto logarithm = [&](const Expr& top, const Expr& of_sum) -> Expr {
    if (!Reads(memory, top, largest) || !Reads(memory, of_sum, sum)) return {};
    const auto at = memory.Position(*of_sum);
    if (!at || at != memory.Position(*top)) return {};
    found.push_back(Load(of_sum->buffer, of_sum->operands, of_sum->type));
    return Value({NamedValue::Kind::kText, static_cast<int>(found.size()) - 1}, of_sum->type);
  };
  const auto is_unary = [](const Expr& e, UnaryOp op) { return e->kind == Expr::Kind::kUnary && e->unary == op; };
  const Expr made = Rewrite(expr, [&](const Expr& e) -> Expr {
    if (is(e, BinaryOp::kSub) && is(e->operands[0], BinaryOp::kSub) && is_unary(e->operands[1], UnaryOp::kLog)) {
      const Expr log = logarithm(e->operands[0]->operands[1], e->operands[1]->operands[0]);
      return log ? e->operands[0]->operands[0] - log : Expr();
    }
    if (taken == OfLogSum::kProbabilitiesToo && is(e, BinaryOp::kDiv) && is_unary(e->operands[0], UnaryOp::kExp) &&
        is(e->operands[0]->operands[0], BinaryOp::kSub)) {
      const Expr& over_top = e->operands[0]->operands[0];
      const Expr log = logarithm(over_top->operands[1], e->operands[1]);
      return log ? Exp(over_top->operands[0] - log) : Expr();
    }
    return {};
  });
  bool all = true;
  Visit(made, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    all &= memory.Root(node.buffer) != sum && memory.Root(node.buffer) != largest;
  });
  if (!all || found.empty()) return std::nullopt;
  return ReplaceValues(made, [&](const ExprNode& value) {
    return value.value.kind == NamedValue::Kind::kText ? found[static_cast<std::size_t>(value.value.number)] : Expr();
  });
}

}  // namespace hone::expert
