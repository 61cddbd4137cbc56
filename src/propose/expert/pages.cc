#include "propose/expert/pages.h"

#include <algorithm>
#include <utility>

#include "expr/affine.h"

namespace hone::expert {

std::optional<std::int64_t> RowsOfPage(const Piece& map, const FlatLoad& load, const IndexVar& row) {
  const std::int64_t step = load.position ? load.position->of(row) : 0;
  if (step <= 0) return std::nullopt;
  std::int64_t end = 0;  // of the map's dimension that neighbouring rows are in
  for (const std::int64_t stride : DenseStrides(Extents(map.space))) {
    if (stride > step) end = stride;
  }
  const std::int64_t rows = end / step;
  if (end % step != 0 || rows == 0 || row.extent % rows != 0) return std::nullopt;
  return rows;
}

std::optional<PagedRows> PagedRowsOf(const Memory& memory, const Piece& map, const FlatLoad& load, const IndexVar& row,
                                     const IndexVar& place, const IndexVar& slot, std::vector<IndexVar> vars) {
  Affine at = *load.position;
  const std::int64_t step = at.of(row);
  at.coefficient.erase(row.id);
  if (place.extent > 1) at.coefficient[place.id] = step * slot.extent;
  if (slot.extent > 1) at.coefficient[slot.id] = step;
  vars.insert(vars.end(), {place, slot});
  const auto element = ElementAt(memory, map, at, vars);
  if (!element || (*element)->kind != Expr::Kind::kLoad) return std::nullopt;
  const ExprNode& found = **element;
  const Shape& shape = memory.shape(found.buffer);
  const bool flat = found.operands.size() != shape.size();
  if (flat && found.operands.size() != 1) return std::nullopt;
  const auto strides = flat ? DenseStrides({1}) : DenseStrides(shape);
  PagedRows rows{.buffer = memory.Root(found.buffer), .position = {}, .page = {}, .number = {}};
  for (std::size_t d = 0; d < found.operands.size(); ++d) {
    const LinearForm index = LinearOf(found.operands[d]);
    rows.position = Combine(std::move(rows.position), index.sum, strides[d]);
    for (const auto& [what, times] : index.rest) {
      const std::int64_t extent = flat ? ElementCount(shape) : shape[d];
      if (rows.number || times <= 0 || extent % times != 0) return std::nullopt;
      rows.number = what;
      rows.page = NewIndex(extent / times);
      rows.position.coefficient[rows.page.id] = strides[d] * times;
    }
  }
  const auto moves = [&](const IndexVar& var) { return var.extent > 1 && rows.position.of(var) != 0; };
  if (!rows.number || UsesIndex(rows.number, slot.id) || moves(place)) return std::nullopt;
  std::erase_if(rows.position.coefficient, [](const auto& one) { return one.second == 0; });
  return rows;
}

}  // namespace hone::expert
