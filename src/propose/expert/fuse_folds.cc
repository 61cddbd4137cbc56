// Folds and the map that reads them, folds that are nests anyway, and places in order with what is looked up there.
#include <algorithm>
#include <map>

#include "propose/expert/fuser.h"
#include "propose/expert/keyed_pieces.h"
#include "propose/expert/normalise.h"

namespace hone::expert {

std::optional<Norm> Fuser::NormAt(std::size_t map_at, bool stores) const {
  return NormOf(
      memory_, pieces_, map_at, [&](int buffer) { return maker_[Id(buffer)]; },
      [&](int buffer) { return Readers(buffer); }, stores);
}

void Fuser::GroupNorms(bool stores) {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    const bool is_norm = stores && !pieces_[m].statistics.empty() && !pieces_[m].fold && IsPlain(memory_, pieces_[m]);
    if (!known_[m].alive || !(IsSimpleMap(m) || is_norm)) continue;
    auto norm = NormAt(m, stores);
    if (!norm) continue;
    for (const auto member : norm->members) Kill(member);
    pieces_[m] = std::move(norm->piece);
    DropShifts(pieces_[m]);
    for (auto& one : pieces_[m].also) {
      if (IsOfRow(pieces_[m], one)) EndRow(m, one);
      maker_[Id(one.buffer)] = static_cast<int>(m);
    }
    Learn(m);
  }
}

// What a map makes of a fold that others read, too, as of a variance that is kept, for another map alone: a norm makes
// it anew, and stores the fold for the others.
void Fuser::TakeEndsOfRows() {
  for (std::size_t e = 0; e < pieces_.size(); ++e) {
    if (!known_[e].alive || !IsSimpleMap(e) || !known_[e].plain || known_[e].reads.size() != 1 ||
        memory_.IsOutput(pieces_[e].buffer) || !pieces_[e].also.empty() || !pieces_[e].statistics.empty())
      continue;
    const int fold = maker_[Id(known_[e].reads[0])];
    const auto readers = Readers(pieces_[e].buffer);
    if (fold < 0 || !pieces_[Id(fold)].fold || readers.size() != 1) continue;
    const std::size_t m = readers[0];
    if (pieces_[m].fold || known_[m].folds_inside || known_[m].count <= known_[e].count) continue;
    auto with = Inlined(pieces_[e], pieces_[m]);
    if (!with) continue;
    std::swap(pieces_[m], *with);
    Kill(e);
    Learn(m);
    const auto norm = NormAt(m, /*stores=*/true);
    if (norm && std::ranges::find(norm->members, Id(fold)) != norm->members.end()) continue;
    std::swap(pieces_[m], *with);
    known_[e].alive = true;
    maker_[Id(pieces_[e].buffer)] = static_cast<int>(e);
    Learn(e);
    Learn(m);
  }
}

// What a norm stores of a row, with what a map makes of it for which alone it is stored.
void Fuser::EndRow(std::size_t norm, Piece& row) {
  auto readers = Readers(row.buffer);
  std::erase(readers, norm);
  if (memory_.IsOutput(row.buffer) || readers.size() != 1 || !IsSimpleMap(readers[0]) ||
      known_[readers[0]].reads.size() != 1)
    return;
  auto end = OverSpace(pieces_[readers[0]], row.space);
  if (!end) return;
  bool own = true;
  const Affine position = OwnPosition(row.space);
  for (const auto& load : memory_.Loads(end->value)) own &= load.position && *load.position == position;
  if (!own) return;
  const int made = row.buffer;
  end->value = ReplaceLoads(end->value, [&](const ExprNode& load) -> Expr { return Load(made, {Expr(0)}, load.type); });
  Kill(readers[0]);
  row = std::move(*end);
}

// Sums over rows of which they read the softmax. What rows make stands where the last of its parts did.
void Fuser::GroupRowFolds() {
  for (std::size_t s = 0; s < pieces_.size(); ++s) {
    if (!known_[s].alive || !pieces_[s].fold) continue;
    auto found = RowFoldOf(
        memory_, pieces_, s, [&](int buffer) { return maker_[Id(buffer)]; },
        [&](int buffer) { return Readers(buffer); });
    if (!found) continue;
    const std::size_t place = found->all ? found->members.back() : s;
    bool made = true;
    EachExpr(std::as_const(found->rows), [&](const Expr& expr) {
      for (const auto& load : memory_.Loads(expr)) {
        const int maker = maker_[Id(load.buffer)];
        const bool member = std::binary_search(found->members.begin(), found->members.end(),
                                               static_cast<std::size_t>(std::max(maker, 0)));
        made &= maker < static_cast<int>(place) || (maker >= 0 && member);
      }
    });
    if (!made) continue;
    for (const auto member : found->members) Kill(member);
    if (found->all) {
      pieces_[s] = std::move(*found->all);
      Learn(s);
      known_[place].alive = true;
      maker_[Id(found->rows.buffer)] = static_cast<int>(place);
    }
    pieces_[place] = std::move(found->rows);
    Learn(place);
  }
}

// Folds of the same number, as the count of the rows of a loss is of ones where all of them count, are numbers. Whether
// there were such.
bool Fuser::CountNumbers() {
  bool some = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (!known_[i].alive || !piece.fold || !piece.inside.empty() || !piece.statistics.empty() || !piece.also.empty())
      continue;
    const Expr number = Simplify(Reduce(piece.fold->op, piece.fold->over, piece.fold->body));
    if (!IsConst(number)) continue;
    piece.value = ReplaceValue(piece.fold->finish, kIt, number);
    piece.fold.reset();
    Learn(i);
    some = true;
  }
  return some;
}

// Whether a fold that others read, too, can go into this reader, since they can only after it: folds that nobody but
// the reader reads.
bool Fuser::OthersFollow(int buffer, std::size_t reader) const {
  return std::ranges::all_of(Readers(buffer), [&](std::size_t other) {
    if (other == reader) return true;
    const Piece &piece = pieces_[other], &into = pieces_[reader];
    return piece.fold && !LoadsBuffer(piece.fold->body, buffer) && !memory_.IsOutput(piece.buffer) &&
           Extents(piece.space) == Extents(into.space) && Extents(piece.fold->over) == Extents(into.fold->over) &&
           Readers(piece.buffer) == std::vector<std::size_t>{reader};
  });
}

// Folds that the ends of others read, with what those share: sums that are divided by the same count, say.
bool Fuser::JoinFoldsInto(std::size_t reader) {
  for (const int read : std::vector<int>(known_[reader].reads)) {
    const int maker = maker_[Id(read)];
    if (maker < 0 || memory_.IsOutput(read) || !pieces_[static_cast<std::size_t>(maker)].fold) continue;
    const auto other = static_cast<std::size_t>(maker);
    if (other == reader || !OthersFollow(read, reader)) continue;
    auto joined = JoinFolds(memory_, pieces_[reader], pieces_[other]);
    if (!joined) continue;
    if (Readers(read).size() == 1) Kill(other);
    pieces_[reader] = std::move(*joined);
    Learn(reader);
    // What has joined for itself, and is read by nobody else any more.
    for (const Piece& one : pieces_[reader].statistics) {
      const int own = maker_[Id(one.buffer)];
      if (own >= 0 && Readers(one.buffer) == std::vector<std::size_t>{reader}) Kill(static_cast<std::size_t>(own));
    }
    return true;
  }
  return false;
}

// Folds over the same rows: each row is read once.
void Fuser::GroupFolds() {
  // One that others have joined joins others with them.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t s = 0; s < pieces_.size(); ++s) {
      while (known_[s].alive && pieces_[s].fold && JoinFoldsInto(s)) changed = true;
    }
  }
  for (std::size_t s = 0; s < pieces_.size(); ++s) {
    if (!known_[s].alive || !pieces_[s].fold) continue;
    for (const int read : std::vector<int>(known_[s].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read) || !pieces_[static_cast<std::size_t>(maker)].fold) continue;
      const auto other = static_cast<std::size_t>(maker);
      const auto readers = Readers(read);
      if (readers.size() == 1) {
        // The largest of a row, and the logarithm of the sum of its exponentials.
        if (IsValue(pieces_[s].fold->finish, kIt)) continue;
        if (auto log_sum = LogSum(memory_, pieces_[other], pieces_[s])) {
          Kill(other);
          pieces_[s] = std::move(*log_sum);
          Learn(s);
          break;
        }
      }
      // The largest of a row, the sum of its exponentials, and those who read both.
      const auto of_sum = Readers(pieces_[s].buffer);
      if (readers.size() != of_sum.size() + 1 || of_sum.empty() || memory_.IsOutput(pieces_[s].buffer)) continue;
      auto log_sum = IsValue(pieces_[s].fold->finish, kIt) ? LogSum(memory_, pieces_[other], pieces_[s]) : std::nullopt;
      if (!log_sum) continue;
      std::map<std::size_t, Piece> changed;
      bool fits = true;
      for (const std::size_t last : of_sum) {
        fits &= std::find(readers.begin(), readers.end(), last) != readers.end() && pieces_[last].sequence < 0;
        // What is picked of scores is as exact as those are: a product's in 16 bits.
        const OfLogSum taken = picks_.count(last) > 0 ? OfLogSum::kProbabilitiesToo : OfLogSum::kLogarithms;
        EachExpr(changed.emplace(last, pieces_[last]).first->second, [&](Expr& expr) {
          auto after = WithLogSum(memory_, expr, pieces_[other].buffer, pieces_[s].buffer, taken);
          if (after) {
            expr = std::move(*after);
          } else {
            fits &= !LoadsBuffer(expr, pieces_[other].buffer) && !LoadsBuffer(expr, pieces_[s].buffer);
          }
        });
      }
      if (!fits) continue;
      Kill(other);
      pieces_[s] = std::move(*log_sum);
      Learn(s);
      for (auto& [last, piece] : changed) {
        pieces_[last] = std::move(piece);
        Learn(last);
      }
      break;
    }
  }
}

// The logarithm of the same sum for two, as a loss and what it pays for a large one have it, is made once: what else
// was made of it are maps, of whoever reads the one and of the other. Whether there were such.
bool Fuser::ShareLogSums() {
  bool any = false;
  for (std::size_t j = 0; j < pieces_.size(); ++j) {
    for (std::size_t i = 0; i < j; ++i) {
      if (!known_[i].alive || !known_[j].alive || !IsSameLogSum(memory_, pieces_[i], pieces_[j])) continue;
      const auto end = EndOfLogSum(pieces_[i]), other = EndOfLogSum(pieces_[j]);
      if (!end || !other || (memory_.IsOutput(pieces_[i].buffer) && !IsValue(*end, kIt))) continue;
      const auto of = [&](const Piece& piece, const Expr& made, const std::vector<IndexVar>& space) {
        Piece map;
        map.buffer = piece.buffer;
        map.space = space;
        map.value =
            ReplaceValue(made, kIt, Load(pieces_[i].buffer, {ToExpr(OwnPosition(space), space)}, ScalarType::kReal));
        return map;
      };
      const Piece as_before = of(pieces_[i], *end, pieces_[i].space);
      std::map<std::size_t, Piece> changed;
      bool fits = true;
      for (const std::size_t reader : IsValue(*end, kIt) ? std::vector<std::size_t>() : Readers(pieces_[i].buffer)) {
        Piece& made = changed.emplace(reader, pieces_[reader]).first->second;
        EachExpr(made, [&](Expr& expr) {
          expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
            if (memory_.Root(load.buffer) != as_before.buffer) return {};
            auto element = ElementAt(memory_, as_before, load);
            fits &= element.has_value();
            return element.value_or(Expr());
          });
        });
      }
      if (!fits || changed.contains(j)) continue;
      pieces_[i].fold->finish = OnlyLogSum();
      pieces_[j] = of(pieces_[j], *other, pieces_[j].space);
      for (auto& [reader, made] : changed) pieces_[reader] = std::move(made);
      for (auto& [reader, made] : changed) Learn(reader);
      Learn(i);
      Learn(j);
      any = true;
    }
  }
  return any;
}

// A fold that is a nest anyway, and another that reads each of its results once: its results never are in memory.
void Fuser::NestFolds() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& inner = pieces_[i];
    if (!known_[i].alive || !inner.fold || known_[i].plain || IsProduct(inner) || !inner.inside.empty() ||
        !inner.statistics.empty() || memory_.IsOutput(inner.buffer) || KeyedFoldIn(inner))
      continue;
    const auto readers = Readers(inner.buffer);
    if (readers.size() != 1) continue;
    const Piece& outer = pieces_[readers[0]];
    if (!outer.fold || !outer.inside.empty() || !outer.statistics.empty() || !FillsADevice(outer) ||
        LoadsBuffer(outer.fold->finish, inner.buffer) || LoadsOf(readers[0], inner.buffer) != 1 ||
        known_[readers[0]].count != ElementCount(Extents(inner.space)))
      continue;
    Piece as_map = inner;
    as_map.fold.reset();
    as_map.value = ReplaceValue(inner.fold->finish, kIt, Reduce(inner.fold->op, inner.fold->over, inner.fold->body));
    std::swap(inner, as_map);
    if (InlineInto(i, readers[0])) {
      Kill(i);
    } else {
      std::swap(inner, as_map);
    }
  }
}

// Places in order, and the maps that look up there what was put in order.
void Fuser::GroupOrdered() {
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    if (!known_[m].alive || !IsSimpleMap(m)) continue;
    for (const int read : std::vector<int>(known_[m].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || pieces_[Id(maker)].inside.empty()) continue;
      const std::size_t order = Id(maker);
      auto also = OverSpace(pieces_[m], pieces_[order].space);
      if (!also || !OfOrdered(memory_, *also, pieces_[order])) continue;
      const auto& reads = known_[m].reads;
      if (std::any_of(reads.begin(), reads.end(),
                      [&](int buffer) { return buffer != read && maker_[Id(buffer)] >= maker; }))
        continue;
      const int made = pieces_[m].buffer;
      pieces_[order].also.push_back(std::move(*also));
      Kill(m);
      maker_[Id(made)] = maker;
      Learn(order);
      break;
    }
  }
}

}  // namespace hone::expert
