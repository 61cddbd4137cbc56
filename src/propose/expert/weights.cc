// Products of few rows with what memory holds as numbers of 8 bits, or as whole ones of 4, two a byte or eight a word
// of 32 bits: quantized layers. What makes reals of 16 bits of those goes into the product, which then reads the
// numbers as they lie: a half or a quarter of the bytes, and no kernel before it. K is taken apart where scales belong
// to so many of it, or a byte or a word has several numbers; columns where a word has several of those.
#include <algorithm>

#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

constexpr int kLongest = 240;

class Widener {
 public:
  Widener(const Memory& memory, const Piece& product, const std::function<const Piece*(int buffer)>& map)
      : memory_(memory), map_(map), made_{product, {}} {}

  std::optional<WithWeights> Do() {
    const Piece& product = made_.piece;
    if (!product.fold || product.fold->over.size() != 1 || product.space.empty()) return std::nullopt;
    for (const std::size_t side : {std::size_t{1}, std::size_t{0}}) {
      const Expr& factor = product.fold->body->operands[side];
      if (!Repeats(*factor)) continue;
      const std::optional<Piece> before = made_.piece;
      if (Widen(side)) return std::move(made_);
      made_ = {*before, {}};
      columns_ = 1;
    }
    return std::nullopt;
  }

 private:
  // Whether it is what columns lie along, or across, for few rows.
  bool Repeats(const ExprNode& factor) const {
    if (factor.kind != Expr::Kind::kLoad || map_(memory_.Root(factor.buffer)) == nullptr) return false;
    const auto position = memory_.Position(factor);
    const auto& space = made_.piece.space;
    if (!position || position->of(space.back()) == 0) return false;
    const IndexVar& over = made_.piece.fold->over[0];
    // Across: the kernel takes so many columns and elements of K at a time (dsl/cuda/ways/nest_weights.cc).
    const bool across = position->of(space.back()) == 1 && space.back().extent % 16 == 0 && over.extent % 8 == 0;
    if (position->of(over) != 1 && !across) return false;
    std::int64_t rows = 1;
    for (const IndexVar& var : space) rows *= position->of(var) == 0 ? var.extent : 1;
    return rows <= kRowsOfStoredWeights;
  }

  bool Widen(std::size_t side) {
    for (;;) {
      const Expr& factor = made_.piece.fold->body->operands[side];
      Expr wanted;
      Visit(factor, [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad && map_(memory_.Root(node.buffer)) != nullptr)
          wanted = Expr(Shared(factor, node));
      });
      if (!wanted) break;
      const int buffer = memory_.Root(wanted->buffer);
      if (!Inline(side, buffer, *map_(buffer))) return false;
      if (std::find(made_.maps.begin(), made_.maps.end(), buffer) == made_.maps.end()) made_.maps.push_back(buffer);
      if (TreeSize(made_.piece.fold->body) > kLongest) return false;
    }
    const Expr& factor = made_.piece.fold->body->operands[side];
    if (HasReduce(factor) || !HasStored(factor)) return false;
    TakeOut(side);
    return HasFewBits(made_.piece.fold->body->operands[side]);
  }

  DType TypeOf(const ExprNode& load) const {
    return memory_.graph().buffers()[static_cast<std::size_t>(memory_.Root(load.buffer))].dtype;
  }
  bool HasStored(const Expr& factor) const {
    bool stored = false;
    Visit(factor, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || !IsStoredInFewBits(TypeOf(node))) return;
      const auto position = memory_.Position(node);
      const auto& space = made_.piece.space;
      stored |= position && std::any_of(space.end() - columns_, space.end(),
                                        [&](const IndexVar& column) { return position->of(column) != 0; });
    });
    return stored;
  }
  // Whether all is of 16 bits or less, or words of 32, or scales of f32 for so many of K, or a table of f32 that
  // numbers of 4 bits are places in: the kernel takes nothing else (dsl/shape/stored_weights.h).
  bool HasFewBits(const Expr& factor) const {
    bool few = true;
    Visit(factor, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || Bytes(TypeOf(node)) <= 2) return;
      const auto position = memory_.Position(node);
      const bool table = !position && ElementCount(memory_.shape(node.buffer)) == 16;
      few &= TypeOf(node) == DType::kI32 ||
             (TypeOf(node) == DType::kF32 && (table || (position && position->of(made_.piece.fold->over.back()) == 0)));
    });
    return few;
  }

  // The node of the tree, shared.
  static Expr Shared(const Expr& tree, const ExprNode& node) {
    if (tree.get() == &node) return tree;
    for (const Expr& operand : tree->operands) {
      if (Expr found = Shared(operand, node)) return found;
    }
    return {};
  }

  bool Inline(std::size_t side, int buffer, const Piece& map) {
    for (int tries = 0; tries < 5; ++tries) {
      const Fold& fold = *made_.piece.fold;
      bool fits = true;
      const Expr after = ReplaceLoads(fold.body->operands[side], [&](const ExprNode& load) -> Expr {
        if (memory_.Root(load.buffer) != buffer) return {};
        const auto element = ElementAt(memory_, map, load);
        fits &= element.has_value();
        return element.value_or(Expr());
      });
      if (fits) {
        Replace(side, Simplify(WithoutWraps(memory_, after)));
        return true;
      }
      if (!Split(side, buffer, map)) return false;
    }
    return false;
  }
  void Replace(std::size_t side, const Expr& factor) {
    Expr factors[2] = {made_.piece.fold->body->operands[0], made_.piece.fold->body->operands[1]};
    factors[side] = factor;
    made_.piece.fold->body = factors[0] * factors[1];
  }

  // A folded index, or one of the columns, as two, of which the map's dimension that it steps through is one; the
  // innermost that can be.
  bool Split(std::size_t side, int buffer, const Piece& map) {
    if (SplitIndex(made_.piece.fold->over, 0, side, buffer, map)) return true;
    auto& space = made_.piece.space;
    if (!SplitIndex(space, space.size() - static_cast<std::size_t>(columns_), side, buffer, map)) return false;
    ++columns_;
    return true;
  }
  bool SplitIndex(std::vector<IndexVar>& indices, std::size_t first, std::size_t side, int buffer, const Piece& map) {
    Fold& fold = *made_.piece.fold;
    for (std::size_t at = indices.size(); at-- > first && !map.space.empty();) {
      const IndexVar all = indices[at];
      std::int64_t step = 0, stride = 1, inner = at + 1 == indices.size() ? map.space.back().extent : 1;
      Visit(fold.body->operands[side], [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad || memory_.Root(node.buffer) != buffer) return;
        if (const auto position = memory_.Position(node)) step = position->of(all);
      });
      if (step == 0) continue;
      for (std::size_t d = map.space.size(); d-- > 0; stride *= map.space[d].extent) {
        if (stride != step || map.space[d].extent == 1) continue;
        inner = map.space[d].extent;
        break;
      }
      if (inner <= 1 || inner >= all.extent || all.extent % inner != 0) continue;
      const IndexVar many = NewIndex(all.extent / inner), few = NewIndex(inner);
      indices[at] = few;
      indices.insert(indices.begin() + static_cast<std::ptrdiff_t>(at), many);
      const auto with = [&](const Expr& e) {
        return Substitute(
            e, [&](const IndexVar& var) { return var.id == all.id ? Expr(many) * Expr(inner) + Expr(few) : Expr(); });
      };
      fold.body = with(fold.body);
      fold.finish = with(fold.finish);
      return true;
    }
    return false;
  }

  // What does not vary along K is the end's.
  void TakeOut(std::size_t side) {
    Expr kept, out;
    const std::function<void(const Expr&)> sort = [&](const Expr& e) {
      if (IsBinary(e, BinaryOp::kMul)) {
        sort(e->operands[0]);
        sort(e->operands[1]);
        return;
      }
      const auto& over = made_.piece.fold->over;
      const bool varies =
          std::any_of(over.begin(), over.end(), [&](const IndexVar& var) { return UsesIndex(e, var.id); });
      Expr& to = varies ? kept : out;
      to = to ? to * e : e;
    };
    sort(made_.piece.fold->body->operands[side]);
    if (!out || !kept) return;
    Replace(side, kept);
    made_.piece.fold->finish = ReplaceValue(made_.piece.fold->finish, kIt, Value(kIt, ScalarType::kReal) * out);
  }

  const Memory& memory_;
  const std::function<const Piece*(int buffer)>& map_;
  WithWeights made_;
  std::int64_t columns_ = 1;  // of the space's dimensions, how many are columns
};

}  // namespace

std::optional<WithWeights> WithStoredWeights(const Memory& memory, const Piece& product,
                                             const std::function<const Piece*(int buffer)>& map) {
  return Widener(memory, product, map).Do();
}

}  // namespace hone::expert
