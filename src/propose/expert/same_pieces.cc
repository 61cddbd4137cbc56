#include "propose/expert/same_pieces.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace hone::expert {
namespace {

// Of two pieces: which index of the one is which of the other.
class Comparison {
 public:
  bool Same(const Piece& a, const Piece& b) {
    return a.buffer == b.buffer && a.axes == b.axes && a.sequence == b.sequence && a.along == b.along &&
           a.reversed == b.reversed && a.fold.has_value() == b.fold.has_value() && Bind(a.space, b.space) &&
           (!a.fold || Same(*a.fold, *b.fold)) && Same(a.value, b.value) && Same(a.statistics, b.statistics) &&
           Same(a.inside, b.inside) && Same(a.also, b.also);
  }

 private:
  bool Same(const std::vector<Piece>& a, const std::vector<Piece>& b) {
    return std::ranges::equal(a, b, [&](const Piece& one, const Piece& other) { return Same(one, other); });
  }
  bool Same(const Fold& a, const Fold& b) {
    return a.op == b.op && a.torch_in_tf32 == b.torch_in_tf32 && a.few_bits_of_sums == b.few_bits_of_sums &&
           Bind(a.over, b.over) && Same(a.body, b.body) && Same(a.finish, b.finish);
  }

  // Expressions share nodes: each pair is looked at once.
  bool Same(const Expr& a, const Expr& b) {
    if (!a || !b) return !a && !b;
    if (!SameNode(*a, *b)) return false;
    if (a->kind == Expr::Kind::kIndex) {
      const auto bound = number_.find(a->index.id);
      return a->index.extent == b->index.extent &&
             (bound == number_.end() ? a->index.id : bound->second) == b->index.id;
    }
    if (a->operands.empty() || !seen_.insert({a.get(), b.get()}).second) return true;  // or the answer is false anyway
    return Bind(a->over, b->over) &&
           std::ranges::equal(a->operands, b->operands, [&](const Expr& x, const Expr& y) { return Same(x, y); });
  }

  bool Bind(const std::vector<IndexVar>& a, const std::vector<IndexVar>& b) {
    return std::ranges::equal(a, b, [&](const IndexVar& x, const IndexVar& y) {
      return x.extent == y.extent && number_.try_emplace(x.id, y.id).first->second == y.id;
    });
  }

  std::unordered_map<int, int> number_;
  std::set<std::pair<const ExprNode*, const ExprNode*>> seen_;
};

}  // namespace

bool SamePieces(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return std::ranges::equal(a, b, [](const Piece& one, const Piece& other) { return Comparison().Same(one, other); });
}

}  // namespace hone::expert
