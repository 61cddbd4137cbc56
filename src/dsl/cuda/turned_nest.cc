#include "dsl/cuda/turned_nest.h"

#include <algorithm>
#include <cstdlib>

#include "dsl/cuda/nest_element.h"
#include "dsl/element.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

constexpr std::int64_t kLanes = 32, kSector = 32;  // bytes that memory gives at least
constexpr double kNear = 8;                        // sectors of what data choose, where they choose neighbours
constexpr double kSquare = 4;                      // sectors' worth of going through shared memory
constexpr std::int64_t kShortest = 16;             // an index along which a warp can go

// Of all that a warp reads whose lanes are neighbours along the index.
double SectorsAlong(const Kernel& kernel, const Expr& value, int index) {
  double sectors = 0;
  Visit(value, [&](const ExprNode& node) {
    if (node.kind != Kind::kLoad || node.operands.empty()) return;
    const LinearForm form = LinearOf(node.operands[0]);
    const auto bytes = static_cast<std::int64_t>(Bytes(kernel.operand_types[static_cast<std::size_t>(node.buffer)]));
    const std::int64_t step = std::abs(form.sum.of(index)) * bytes;
    const bool chosen = std::ranges::any_of(form.rest, [&](const auto& term) { return UsesIndex(term.first, index); });
    if (step > 0) {
      sectors += static_cast<double>(std::min(kLanes, std::max<std::int64_t>(step * kLanes / kSector, 1)));
    } else {
      sectors += chosen ? kNear : 1;
    }
  });
  return sectors;
}

}  // namespace

std::optional<std::size_t> AcrossIn(const Kernel& kernel) {
  if (kernel.attributes.contains("sequence") || !kernel.also.empty()) return std::nullopt;
  const FlatElement element = MakeFlat(kernel, {});
  bool folds = false;
  Visit(element.value, [&](const ExprNode& node) { folds |= node.kind == Kind::kReduce; });
  if (folds || element.indices.size() < 2 || element.indices.back().extent < kShortest) return std::nullopt;
  if (!RunsFastest(kernel, element.indices.back())) return std::nullopt;
  std::optional<std::size_t> across;
  double least = SectorsAlong(kernel, element.value, element.indices.back().id) / 2;
  for (std::size_t i = 0; i + 1 < element.indices.size(); ++i) {
    if (element.indices[i].extent < kShortest) continue;
    const double sectors = SectorsAlong(kernel, element.value, element.indices[i].id) + kSquare;
    if (sectors >= least) continue;
    least = sectors;
    across = i;
  }
  return across;
}

}  // namespace hone::dsl
