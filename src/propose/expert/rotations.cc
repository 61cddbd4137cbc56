// A map of a product's pairs of columns, each turned by an angle of its own, as the end of that product: the rotary
// embedding of queries and of keys. How it is written does not matter, as halves of a head that are put together again
// or as neighbours: where the first column of a pair stands and where the second one does, it is a sum of multiples of
// both.
#include <algorithm>
#include <vector>

#include "dsl/family.h"
#include "dsl/shape/matmul_shape.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"
#include "propose/expert/rotated_heads.h"
#include "propose/expert/sides.h"

namespace hone::expert {
namespace {

constexpr std::int64_t kFarthest = 128;    // columns of a pair, which a kernel has side by side
constexpr std::int64_t kLongestRow = 512;  // columns of a head

// The columns of a head: [outer, the two of a pair, inner].
struct Pairs {
  IndexVar outer, side, inner;
  std::int64_t distance() const { return inner.extent; }
};

// own * (what stands there) + other * (what the other column of the pair has); none: times nothing.
struct Multiples {
  Expr own, other;
};

class Rotation {
 public:
  Rotation(const Memory& memory, const Piece& product, const Piece& map)
      : memory_(memory), product_(product), map_(map) {}

  // `dims`: so many of the map's last dimensions are a head's columns.
  std::optional<RotatedPart> Find(std::size_t dims) {
    const std::vector<IndexVar> before(map_.space.begin(), map_.space.end() - static_cast<std::ptrdiff_t>(dims));
    const std::vector<IndexVar> last(map_.space.end() - static_cast<std::ptrdiff_t>(dims), map_.space.end());
    const std::int64_t columns = ElementCount(Extents(last));
    if (columns > kLongestRow) return std::nullopt;
    for (std::int64_t distance = 1; distance <= kFarthest; ++distance) {
      if (!dsl::RotatesBy(distance) || columns % (2 * distance) != 0) continue;
      pairs_ = {NewIndex(columns / (2 * distance)), NewIndex(2), NewIndex(distance)};
      space_ = before;
      for (const IndexVar& var : {pairs_.outer, pairs_.side, pairs_.inner}) {
        if (var.extent > 1) space_.push_back(var);
      }
      if (auto made = AsProduct())
        return RotatedPart{std::move(*made), BothSides().PositionOfBoth(first_, pairs_.distance()),
                           space_.size() - before.size()};
    }
    return std::nullopt;
  }

 private:
  std::optional<Piece> AsProduct() {
    const auto map = OverSpace(map_, space_);
    if (!map) return std::nullopt;
    Multiples sides[2];
    for (const int side : {0, 1}) {
      const Expr element = Simplify(
          Substitute(map->value, [&](const IndexVar& var) { return var.id == pairs_.side.id ? Expr(side) : Expr(); }));
      if (side == 0 && !FindFirst(element)) return std::nullopt;
      own_ = Shifted(first_, side * pairs_.distance());
      other_ = Shifted(first_, (1 - side) * pairs_.distance());
      const auto multiples = MultiplesIn(element);
      if (!multiples || !multiples->other) return std::nullopt;
      sides[side] = *multiples;
    }
    const auto own = BothSides().OfBoth(sides[0].own, sides[1].own),
               other = BothSides().OfBoth(Negative(sides[0].other), sides[1].other);
    if (!own || !other) return std::nullopt;
    const Expr rotated = Value(dsl::RotatedValue(static_cast<int>(pairs_.distance())), ScalarType::kReal);
    const Expr it = Value(kIt, ScalarType::kReal);
    return Ended(*own ? Times(it, *own) + Times(rotated, *other) : Times(rotated, *other));
  }

  // Where the first column of a pair is, which is the lower of the two places that are read for it. Columns of the map
  // are the product's, one behind the other.
  bool FindFirst(const Expr& element) {
    std::vector<Affine> places;
    for (const FlatLoad& load : memory_.Loads(element)) {
      if (load.buffer != product_.buffer) continue;
      if (!load.position) return false;
      if (std::ranges::find(places, *load.position) == places.end()) places.push_back(*load.position);
    }
    if (places.size() != 2) return false;
    if (places[0].constant > places[1].constant) std::swap(places[0], places[1]);
    first_ = places[0];
    const bool steps = (pairs_.inner.extent == 1 || first_.of(pairs_.inner) == 1) &&
                       (pairs_.outer.extent == 1 || first_.of(pairs_.outer) == 2 * pairs_.distance());
    return steps && Shifted(first_, pairs_.distance()) == places[1];
  }

  bool ReadsProduct(const Expr& e) const {
    return std::ranges::any_of(memory_.Loads(e), [&](const FlatLoad& load) { return load.buffer == product_.buffer; });
  }

  std::optional<Multiples> MultiplesIn(const Expr& e) const {
    if (e->kind == Expr::Kind::kLoad && memory_.Root(e->buffer) == product_.buffer) {
      const auto place = memory_.Position(*e);
      if (place == own_) return Multiples{1.0, {}};
      if (place == other_) return Multiples{{}, 1.0};
      return std::nullopt;
    }
    const auto of_both = [&](std::size_t a, std::size_t b, const auto& combined) -> std::optional<Multiples> {
      const auto first = MultiplesIn(e->operands[a]), second = MultiplesIn(e->operands[b]);
      if (!first || !second) return std::nullopt;
      return Multiples{combined(first->own, second->own), combined(first->other, second->other)};
    };
    if (IsUnary(e, UnaryOp::kNeg)) {
      const auto inner = MultiplesIn(e->operands[0]);
      return inner ? std::optional(Multiples{Negative(inner->own), Negative(inner->other)}) : std::nullopt;
    }
    if (IsBinary(e, BinaryOp::kAdd)) return of_both(0, 1, Sum);
    if (IsBinary(e, BinaryOp::kSub))
      return of_both(0, 1, [](const Expr& a, const Expr& b) { return Sum(a, Negative(b)); });
    if (e->kind == Expr::Kind::kSelect && !ReadsProduct(e->operands[0])) {
      return of_both(1, 2, [&](const Expr& a, const Expr& b) {
        return a || b ? Select(e->operands[0], a ? a : Expr(0.0), b ? b : Expr(0.0)) : Expr();
      });
    }
    if (IsBinary(e, BinaryOp::kMul)) {
      for (const std::size_t i : {0, 1}) {
        const Expr& factor = e->operands[i];
        if (ReadsProduct(factor)) continue;
        const auto inner = MultiplesIn(e->operands[1 - i]);
        if (!inner) return std::nullopt;
        return Multiples{Times(inner->own, factor), Times(inner->other, factor)};
      }
    }
    return std::nullopt;
  }

  // Signs stand outside of products, where those of both columns are compared.
  static Expr Negative(const Expr& e) {
    if (!e) return e;
    if (IsConst(e)) return -NumberOf(*e);
    return IsUnary(e, UnaryOp::kNeg) ? e->operands[0] : -e;
  }
  static Expr Sum(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }
  static Expr Times(const Expr& a, const Expr& b) {
    const auto is = [](const Expr& e, double number) { return IsConst(e) && NumberOf(*e) == number; };
    if (!a || is(b, 1)) return a;
    if (is(a, 1)) return b;
    if (IsUnary(a, UnaryOp::kNeg) || is(a, -1)) return Negative(Times(Negative(a), b));
    return IsUnary(b, UnaryOp::kNeg) ? Negative(Times(a, b->operands[0])) : a * b;
  }

  Sides BothSides() const { return {.memory = memory_, .space = space_, .side = pairs_.side}; }

  static Affine Shifted(Affine position, std::int64_t by) {
    position.constant += by;
    return position;
  }
  std::optional<Piece> Ended(Expr finish) const {
    auto made = ReadAt(product_, BothSides().PositionOfBoth(first_, pairs_.distance()), space_);
    if (!made) return std::nullopt;
    made->fold->finish = std::move(finish);
    made->buffer = map_.buffer;
    return made;
  }

  const Memory& memory_;
  const Piece &product_, &map_;
  std::vector<IndexVar> space_;  // the map's dimensions, the last ones as those of pairs
  Pairs pairs_;
  Affine first_, own_, other_;  // where the product has a pair's first column; what is here, and beside it
};

}  // namespace

std::optional<RotatedPart> RotatedPartOf(const Memory& memory, const Piece& product, const Piece& map) {
  if (!product.fold || !IsValue(product.fold->finish, kIt) || map.space.size() < 2) return std::nullopt;
  const auto loads = memory.Loads(map.value);
  if (std::ranges::count(loads, product.buffer, &FlatLoad::buffer) < 2) return std::nullopt;
  // As many columns as they can be: neighbours that are turned are a row in two dimensions.
  for (std::size_t dims = map.space.size() - 1; dims > 0; --dims) {
    if (auto made = Rotation(memory, product, map).Find(dims)) return made;
  }
  return std::nullopt;
}

std::optional<Piece> RotatedProduct(const Memory& memory, const Piece& product, const Piece& map) {
  auto part = RotatedPartOf(memory, product, map);
  return part ? std::optional(std::move(part->piece)) : std::nullopt;
}

}  // namespace hone::expert
