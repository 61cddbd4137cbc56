#include "propose/expert/patches.h"

#include <algorithm>
#include <vector>

#include "propose/expert/window.h"

namespace hone::expert {
namespace {

constexpr std::int64_t kMostCopies = 4;  // of each element

}  // namespace

std::optional<Patches> PatchesOf(const Memory& memory, const Piece& piece) {
  if (!piece.fold || !piece.also.empty() || !piece.statistics.empty() || !IsContraction(memory, *piece.fold))
    return std::nullopt;
  const Fold& fold = *piece.fold;
  for (const std::size_t side : {0, 1}) {
    const Expr &x = fold.body->operands[side], &w = fold.body->operands[1 - side];
    const auto window = ReadWindow(memory, x, piece.space, fold.over);
    if (!window || w->kind != Expr::Kind::kLoad) continue;
    const bool slides = std::ranges::any_of(
        window->dims, [](const WindowDim& dim) { return !dim.kept.empty() && !dim.folded.empty(); });
    if (!slides) continue;
    Patches made{.copy = piece, .product = piece};
    std::vector<IndexVar> space;
    for (const auto* vars : {&piece.space, &fold.over}) {
      for (const IndexVar& var : *vars) {
        if (std::ranges::any_of(window->dims, [&](const WindowDim& dim) { return dim.place.of(var) != 0; }))
          space.push_back(var);
      }
    }
    if (ElementCount(Extents(space)) > kMostCopies * ElementCount(memory.shape(window->buffer))) return std::nullopt;
    made.copy.space = space;
    made.copy.fold.reset();
    made.copy.value = x;
    made.product.fold->body = Load(piece.buffer, {ToExpr(OwnPosition(space), space)}, ScalarType::kReal) * w;
    return made;
  }
  return std::nullopt;
}

}  // namespace hone::expert
