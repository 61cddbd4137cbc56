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

std::optional<std::vector<dsl::TermPtr>> ByPages(Names& names, const std::vector<Piece>& looked_up, const FlatLoad& k,
                                                 const FlatLoad& v, const Piece& scores, const Piece& outer) {
  const auto map_of = [&](const FlatLoad& load) {
    const auto made = std::ranges::find_if(looked_up, [&](const Piece& one) { return one.buffer == load.buffer; });
    return made == looked_up.end() ? nullptr : &*made;
  };
  const Piece *k_map = map_of(k), *v_map = map_of(v);
  if (looked_up.size() > 2 || k_map == nullptr || v_map == nullptr) return std::nullopt;
  std::vector<IndexVar> batches(scores.space.begin(), scores.space.end() - 2);
  const IndexVar key = scores.space.back(), depth = scores.fold->over[0], width = outer.space.back();
  // The values' places in the scores' indices.
  FlatLoad values = v;
  for (std::size_t d = 0; d < batches.size(); ++d) {
    auto step = values.position->coefficient.extract(outer.space[d].id);
    if (step) values.position->coefficient[batches[d].id] = step.mapped();
  }
  auto step = values.position->coefficient.extract(outer.fold->over[0].id);
  if (step) values.position->coefficient[key.id] = step.mapped();
  const auto rows = RowsOfPage(*k_map, k, key);
  if (!rows || rows != RowsOfPage(*v_map, values, key)) return std::nullopt;
  const IndexVar place = NewIndex(key.extent / *rows), slot = NewIndex(*rows);
  const auto found = [&](const Piece& map, const FlatLoad& load, const IndexVar& element) {
    std::vector<IndexVar> vars = batches;
    vars.push_back(element);
    return PagedRowsOf(names.memory(), map, load, key, place, slot, vars);
  };
  const auto k_rows = found(*k_map, k, depth), v_rows = found(*v_map, values, width);
  if (!k_rows || !v_rows || !SameExpr(k_rows->number, v_rows->number)) return std::nullopt;
  const auto view = [&](const PagedRows& of, const IndexVar& element) {
    std::vector<IndexVar> before = batches;
    before.push_back(of.page);
    return names.Matrix(of.buffer, of.position, before, slot, element);
  };
  const auto k_name = view(*k_rows, depth), v_name = view(*v_rows, width);
  std::vector<IndexVar> table = batches;
  table.push_back(place);
  const auto number = names.Term(k_rows->number, table, {});
  if (!k_name || !v_name || !number) return std::nullopt;
  return std::vector{dsl::Name(*k_name), dsl::Name(*v_name), *number};
}

}  // namespace hone::expert
