#include "propose/expert/written_places.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

constexpr int kLongestPlace = 60;  // operations

bool Loads(const Expr& e) {
  bool loads = false;
  Visit(e, [&](const ExprNode& node) { loads |= node.kind == Expr::Kind::kLoad; });
  return loads;
}

// The whole number that the load reads, of its own indices; nothing if more than indices make it.
std::optional<Expr> Written(const Memory& memory, const ExprNode& load) {
  const int root = memory.Root(load.buffer);
  const int at = memory.graph().buffers()[static_cast<std::size_t>(root)].stage;
  if (at < 0 || load.type != ScalarType::kInt) return std::nullopt;
  const Stage& stage = memory.graph().stages()[static_cast<std::size_t>(at)];
  const Shape &seen = memory.shape(load.buffer), own = Extents(stage.vars);
  if (stage.sequence >= 0 || HasReduce(stage.value) || TreeSize(stage.value) > kLongestPlace ||
      load.operands.size() != seen.size() || ElementCount(own) == 0)
    return std::nullopt;
  std::vector<Expr> indices = load.operands;
  if (seen != own) {  // the same elements in another shape
    Expr flat = 0;
    for (std::size_t d = 0; d < seen.size(); ++d) flat = flat * seen[d] + load.operands[d];
    const auto strides = DenseStrides(own);
    indices.clear();
    for (std::size_t d = 0; d < own.size(); ++d) {
      const Expr behind = d == 0 ? flat : Apply(BinaryOp::kFloorMod, flat, strides[d - 1]);
      indices.push_back(Apply(BinaryOp::kFloorDiv, behind, strides[d]));
    }
  }
  bool indices_alone = true;
  const Expr made = ReplaceLoads(AsKept(memory, root, stage.value), [&](const ExprNode& inner) -> Expr {
    auto value = indices_alone ? Written(memory, inner) : std::nullopt;
    indices_alone &= value.has_value();
    return value.value_or(Expr());
  });
  if (!indices_alone) return std::nullopt;
  const Expr there = Simplify(Substitute(made, [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (stage.vars[d].id == var.id) return indices[d];
    }
    return {};
  }));
  return TreeSize(there) <= kLongestPlace ? std::optional(there) : std::nullopt;
}

}  // namespace

Normal WithPlacesWritten(const Memory& memory, const Stage& stage) {
  bool some = false;
  const Expr written = Rewrite(stage.value, [&](const Expr& e) -> Expr {
    if (e->kind != Expr::Kind::kLoad || std::ranges::none_of(e->operands, Loads)) return {};
    std::vector<Expr> places;
    for (const Expr& place : e->operands) {
      places.push_back(ReplaceLoads(place, [&](const ExprNode& load) -> Expr {
        auto made = Written(memory, load);
        some |= made.has_value();
        return made.value_or(Expr());
      }));
    }
    return WithOperands(e, std::move(places));
  });
  if (some) {
    Normal normal = Normalise(stage.vars, written);
    bool sums = true;
    Visit(normal.value, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad && std::ranges::none_of(node.operands, Loads))
        sums &= memory.Position(node).has_value();
    });
    if (sums) return normal;
  }
  return Normalise(stage.vars, stage.value);
}

}  // namespace hone::expert
