#include "propose/expert/pages.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "expr/affine.h"
#include "propose/expert/held_rows.h"

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

std::optional<PagedKeys> ByPages(Names& names, const std::vector<Piece>& looked_up, const FlatLoad& k,
                                 const FlatLoad& v, const FlatLoad* more, const Piece& scores, const Piece& outer) {
  const std::vector<IndexVar> batches(scores.space.begin(), scores.space.end() - 2);
  const IndexVar key = scores.space.back(), width = outer.space.back();
  // The values' places in the scores' indices.
  FlatLoad values = v;
  for (std::size_t d = 0; d < batches.size(); ++d) {
    auto step = values.position->coefficient.extract(outer.space[d].id);
    if (step) values.position->coefficient[batches[d].id] = step.mapped();
  }
  auto step = values.position->coefficient.extract(outer.fold->over[0].id);
  if (step) values.position->coefficient[key.id] = step.mapped();
  // What is in pages: rows of that load, over batches and keys, and of each the elements; or what a map makes of those.
  struct Rows {
    FlatLoad load;
    IndexVar element;
    Expr made = {};
    dsl::TermPtr view = {};
  };
  std::vector<Rows> all = {{k, scores.fold->over[0]}, {values, width}};
  if (more) all.push_back({*more, scores.inside[0].fold->over[0]});
  const Memory& memory = names.memory();
  std::optional<std::int64_t> of_page;
  std::set<const Piece*> maps;
  const auto map_of = [&](int buffer) -> const Piece* {
    const auto map = std::ranges::find(looked_up, buffer, &Piece::buffer);
    return map == looked_up.end() ? nullptr : &*map;
  };
  const auto vars_of = [&](const Rows& rows, std::initializer_list<IndexVar> keys) {
    std::vector<IndexVar> vars = batches;
    vars.insert(vars.end(), keys);
    vars.push_back(rows.element);
    return vars;
  };
  for (Rows& rows : all) {
    const Piece* map = map_of(rows.load.buffer);
    if (map != nullptr && ScalesEightBits(memory, *map)) {
      const auto made = ElementAt(memory, *map, *rows.load.position, vars_of(rows, {key}));
      if (!made) return std::nullopt;
      maps.insert(map);
      rows.made = *made;
    }
    bool any = false;
    for (const FlatLoad& load : rows.made ? memory.Loads(rows.made) : std::vector{rows.load}) {
      const Piece* const looks_up = map_of(load.buffer);
      if (looks_up == nullptr) continue;
      const auto count = RowsOfPage(*looks_up, load, key);
      if (!count || (of_page && of_page != count)) return std::nullopt;
      of_page = count;
      maps.insert(looks_up);
      any = true;
    }
    if (!any) return std::nullopt;
  }
  if (maps.size() != looked_up.size()) return std::nullopt;
  const IndexVar place = NewIndex(key.extent / *of_page), slot = NewIndex(*of_page);
  Expr number;
  std::optional<IndexVar> page;  // of all
  const auto found_in = [&](const Rows& rows, const FlatLoad& load) -> std::optional<PagedRows> {
    const Piece* const map = map_of(load.buffer);
    auto found = map == nullptr ? std::nullopt : PagedRowsOf(memory, *map, load, key, place, slot, vars_of(rows, {}));
    if (!found || (number && !SameExpr(number, found->number))) return std::nullopt;
    number = found->number;
    if (!page) page = found->page;
    if (page->extent != found->page.extent) return std::nullopt;
    auto step = found->position.coefficient.extract(found->page.id);
    if (step) found->position.coefficient[page->id] = step.mapped();
    return found;
  };
  for (Rows& rows : all) {
    if (!rows.made) {
      const auto found = found_in(rows, rows.load);
      std::vector<IndexVar> before = batches;
      if (page) before.push_back(*page);
      const auto view = found ? names.Matrix(found->buffer, found->position, before, slot, rows.element) : std::nullopt;
      if (!view) return std::nullopt;
      rows.view = dsl::Name(*view);
      continue;
    }
    bool fits = true;
    const Expr in_pages = ReplaceLoads(rows.made, [&](const ExprNode& node) -> Expr {
      const FlatLoad load{memory.Root(node.buffer), memory.Position(node), node.type};
      if (map_of(load.buffer) == nullptr) return {};
      const auto found = load.position ? found_in(rows, load) : std::nullopt;
      fits &= found.has_value();
      if (!found) return {};
      return Load(found->buffer, {ToExpr(found->position, vars_of(rows, {*page, slot}))}, node.type);
    });
    const auto term = fits ? names.Term(in_pages, vars_of(rows, {*page, slot}), {}) : std::nullopt;
    if (!term) return std::nullopt;
    rows.view = *term;
  }
  std::vector<IndexVar> table = batches;
  table.push_back(place);
  const auto pages = names.Term(number, table, {});
  if (!pages) return std::nullopt;
  return PagedKeys{all[0].view, all[1].view, *pages, more ? all[2].view : dsl::TermPtr()};
}

}  // namespace hone::expert
