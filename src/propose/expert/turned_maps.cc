// Maps that lie as what they read. PyTorch keeps the strides of what an elementwise operator reads, so that a sum over
// [n, c, h, w] of what products made by pixels, [n, h, w, c], has its channels last, too. Here a piece writes in the
// order of its space: channels go behind, and its readers find its elements where they are then. It may end the product
// so, nothing is turned between the two, and a convolution reads channels that lie last.
#include <algorithm>
#include <optional>
#include <vector>

#include "propose/expert/fuser.h"
#include "propose/expert/unflatten.h"

namespace hone::expert {
namespace {

// How a load goes through all of a dense tensor: in the order of the dimensions, or with the second one innermost.
enum class Order : std::uint8_t { kOwn, kLast, kOther };
Order OrderOf(const Affine& position, const std::vector<IndexVar>& space) {
  if (position == OwnPosition(space)) return Order::kOwn;
  std::vector<IndexVar> last = space;
  std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  return position == OwnPosition(last) ? Order::kLast : Order::kOther;
}

std::vector<IndexVar> VarsIn(const ExprNode& load) {
  std::vector<IndexVar> vars;
  for (const auto& index : load.operands) {
    for (const auto& var : VarsOf(index)) {
      if (std::ranges::none_of(vars, [&](const IndexVar& other) { return other.id == var.id; })) vars.push_back(var);
    }
  }
  return vars;
}

}  // namespace

// Whether what the map reads has its channels last: all that is as large as it, or at least what a product makes for it
// alone, or a map that was turned itself. What a convolution makes may lie either way.
bool Fuser::ReadsChannelsLast(std::size_t map, const std::set<int>& turned) const {
  const std::vector<IndexVar>& space = pieces_[map].space;
  bool some = false, all = true, preferred = false;
  for (const FlatLoad& load : memory_.Loads(pieces_[map].value)) {
    if (!load.position) return false;
    const int maker = maker_[Id(load.buffer)];
    const bool whole = std::ranges::all_of(space, [&](const IndexVar& var) { return load.position->of(var) != 0; });
    if (!whole || (maker >= 0 && IsWindow(pieces_[Id(maker)]))) continue;
    const bool last = OrderOf(*load.position, space) == Order::kLast;
    some |= last;
    all &= last;
    const bool by_product = maker >= 0 && IsProduct(pieces_[Id(maker)]) && readers_[Id(load.buffer)].size() == 1 &&
                            !memory_.IsOutput(load.buffer);
    preferred |= last && (by_product || turned.contains(load.buffer));
  }
  return some && (all || preferred);
}

// Whether a piece reads the buffer as well where channels lie last: a convolution does, a map goes by what it reads
// itself, and a fold may be of the channels.
bool Fuser::MayReadLast(std::size_t reader, int buffer) const {
  const Piece& piece = pieces_[reader];
  if (piece.is_map()) return IsSimpleMap(reader) && known_[reader].plain;
  if (!piece.fold || !piece.statistics.empty()) return false;
  if (IsWindow(piece)) return IsProduct(piece);
  std::vector<IndexVar> vars = piece.space;
  vars.insert(vars.end(), piece.fold->over.begin(), piece.fold->over.end());
  return std::ranges::all_of(memory_.Loads(piece.fold->body), [&](const FlatLoad& load) {
    if (load.buffer != buffer) return true;
    const auto at = load.position ? Unflatten(*load.position, vars, memory_.shape(buffer)) : std::nullopt;
    return at && std::ranges::any_of(piece.fold->over, [&](const IndexVar& var) { return (*at)[1].of(var) != 0; });
  });
}

// The indices of a load in the buffer's dimensions, whether it is written in them, and may leave them, or elsewise.
std::optional<std::vector<Expr>> Fuser::IndicesIn(int buffer, const ExprNode& load) const {
  if (load.buffer == buffer && load.operands.size() == memory_.shape(buffer).size()) return load.operands;
  const std::vector<IndexVar> vars = VarsIn(load);
  const auto position = memory_.Position(load);
  const auto at = position ? Unflatten(*position, vars, memory_.shape(buffer)) : std::nullopt;
  if (!at) return std::nullopt;
  std::vector<Expr> indices;
  for (const Affine& index : *at) indices.push_back(ToExpr(index, vars));
  return indices;
}

// The reader with channels last where it reads the buffer; nothing if that needs a division.
std::optional<Piece> Fuser::ReadingLast(std::size_t reader, int buffer, int last) const {
  Piece changed = pieces_[reader];
  bool all = true;
  EachExpr(changed, [&](Expr& expr) {
    expr = ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
      if (memory_.Root(load.buffer) != buffer) return {};
      auto indices = IndicesIn(buffer, load);
      if (!indices) {
        all = false;
        return {};
      }
      std::rotate(indices->begin() + 1, indices->begin() + 2, indices->end());
      return Load(last, std::move(*indices), load.type);
    });
  });
  return all ? std::optional(std::move(changed)) : std::nullopt;
}

// Whether a product goes over places of an image: a window's, or pixels some of which it skips, which are no rows.
bool Fuser::Convolves(const Piece& piece) const {
  if (!IsProduct(piece)) return false;
  if (IsWindow(piece)) return true;
  const std::size_t rank = piece.space.size();
  if (rank < 4) return false;
  return std::ranges::any_of(memory_.Loads(piece.fold->body), [&](const FlatLoad& load) {
    if (!load.position) return true;
    const auto step = [&](std::size_t d) { return load.position->of(piece.space[d]); };
    bool skips = false;
    for (std::size_t d = 2; d + 1 < rank; ++d) skips |= step(d) != step(d + 1) * piece.space[d + 1].extent;
    return step(rank - 1) != 0 && skips;
  });
}

// Whether a piece may make an image of 16 bits with its channels last: a map, a product of pixels, a pool.
bool Fuser::MayMakeLast(std::size_t at) const {
  const Piece& piece = pieces_[at];
  if (memory_.shape(piece.buffer).size() < 4 || !IsHalf(HeldAs(piece.buffer)) || !piece.statistics.empty() ||
      piece.sequence >= 0)
    return false;
  if (piece.fold) return IsProduct(piece) ? !Convolves(piece) : IsWindow(piece);
  return IsSimpleMap(at);
}

// What convolutions make, and what ends them: that lies so by their own setting.
std::set<int> Fuser::MadeByConvolutions() const {
  std::set<int> made;
  for (std::size_t at = 0; at < pieces_.size(); ++at) {
    if (!known_[at].alive) continue;
    const bool convolves = Convolves(pieces_[at]);
    const bool ends = IsSimpleMap(at) && std::ranges::any_of(known_[at].reads, [&](int read) {
                        return made.contains(read) && std::ranges::all_of(readers_[Id(read)], [&](std::size_t reader) {
                                 return IsSimpleMap(reader);
                               });
                      });
    if (convolves || ends) made.insert(pieces_[at].buffer);
  }
  return made;
}

// `all`: whatever may; else maps that read what has its channels last.
void Fuser::TurnMaps(bool all) {
  std::set<int> turned;  // buffers
  const std::set<int> convolved = all ? MadeByConvolutions() : std::set<int>();
  for (std::size_t m = 0; m < pieces_.size(); ++m) {
    Piece& map = pieces_[m];
    const auto last = memory_.ChannelsLast(map.buffer);
    if (!known_[m].alive || !map.also.empty() || !last || memory_.IsOutput(map.buffer) ||
        memory_.Root(map.buffer) != map.buffer || Extents(map.space) != memory_.shape(map.buffer))
      continue;
    if (all ? !MayMakeLast(m) || convolved.contains(map.buffer)
            : !IsSimpleMap(m) || !known_[m].plain || !ReadsChannelsLast(m, turned))
      continue;
    std::vector<std::pair<std::size_t, Piece>> changed;
    const std::vector<std::size_t> readers = Readers(map.buffer);
    for (const std::size_t reader : readers) {
      auto one = all || MayReadLast(reader, map.buffer) ? ReadingLast(reader, map.buffer, *last) : std::nullopt;
      if (!one) break;
      changed.emplace_back(reader, std::move(*one));
    }
    if (changed.size() < readers.size()) continue;
    std::rotate(map.space.begin() + 1, map.space.begin() + 2, map.space.end());
    Learn(m);
    for (auto& [reader, one] : changed) {
      pieces_[reader] = std::move(one);
      Learn(reader);
    }
    turned.insert(map.buffer);
  }
}

}  // namespace hone::expert
