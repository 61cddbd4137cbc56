// A product's batches in the dimensions of a map that it reads: heads that share keys are then a dimension of their
// own, along which the keys do not vary.
#include <algorithm>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// `var`, with which a position goes in steps of `step`, as dimensions that end where those of `strides` (outermost
// first) do; nothing if one ends between two elements of it.
std::optional<std::vector<IndexVar>> Apart(const IndexVar& var, std::int64_t step,
                                           const std::vector<std::int64_t>& strides) {
  std::vector<IndexVar> parts;
  std::int64_t left = var.extent;
  for (const std::int64_t stride : strides) {
    if (stride <= step || stride >= step * left) continue;
    if (stride % step != 0 || left % (stride / step) != 0) return std::nullopt;
    parts.push_back(NewIndex(left / (stride / step)));
    left = stride / step;
  }
  parts.push_back(NewIndex(left));
  return parts;
}

}  // namespace

std::optional<Piece> WithBatchesOf(const Memory& memory, const Piece& map, const Piece& product) {
  const auto loads = memory.Loads(product.fold->body);
  const auto read = std::find_if(loads.begin(), loads.end(), [&](const auto& l) { return l.buffer == map.buffer; });
  if (read == loads.end()) return std::nullopt;
  const auto is_batch = [&](const IndexVar& var) {
    return std::all_of(loads.begin(), loads.end(),
                       [&](const auto& l) { return l.position && l.position->of(var) > 0; });
  };
  const auto strides = DenseStrides(Extents(map.space));
  std::vector<IndexVar> space;
  for (const IndexVar& var : product.space) {
    const auto parts = is_batch(var) ? Apart(var, read->position->of(var), strides) : std::vector{NewIndex(var.extent)};
    if (!parts) return std::nullopt;
    space.insert(space.end(), parts->begin(), parts->end());
  }
  return space.size() > product.space.size() ? OverSpace(product, space) : std::nullopt;
}

}  // namespace hone::expert
