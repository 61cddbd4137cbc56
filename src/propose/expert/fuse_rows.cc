// Products whose rows lie in another order than they go through them, as those of sequences that are turned to have
// their places first: they are made in the order in which they lie, and whoever reads them reads that.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "propose/expert/fuser.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

// The rows of a product, outermost first, where they lie in its factor of that buffer, and its other dimensions.
struct Fuser::Rows {
  int buffer = -1;
  std::vector<IndexVar> rows, columns;
  Affine at;

  // How many lie one behind the other, the innermost first.
  std::int64_t SideBySide() const {
    std::int64_t count = rows.back().extent;
    for (std::size_t i = rows.size() - 1; i > 0; --i) {
      if (at.of(rows[i - 1]) != at.of(rows[i]) * rows[i].extent) break;
      count *= rows[i - 1].extent;
    }
    return count;
  }
  bool AreOne() const { return SideBySide() == ElementCount(Extents(rows)); }
  // Whether tiles of rows are full, or there are no more.
  bool AreTiles() const {
    constexpr std::int64_t kTile = 128;
    return SideBySide() % kTile == 0 || AreOne();
  }
};

std::optional<Fuser::Rows> Fuser::RowsOf(const Piece& product) const {
  const Expr& body = product.fold->body;
  if (!product.inside.empty() || !product.statistics.empty() || !product.also.empty() || !IsPlain(memory_, product) ||
      IsWindow(product))
    return std::nullopt;
  const auto loads = memory_.Loads(body);
  if (loads.size() != 2 || !loads[0].position || !loads[1].position) return std::nullopt;
  for (const std::size_t factor : {std::size_t{0}, std::size_t{1}}) {
    Rows made{.buffer = loads[factor].buffer, .rows = {}, .columns = {}, .at = *loads[factor].position};
    bool apart = true;
    for (const IndexVar& var : product.space) {
      const bool own = made.at.of(var) > 0, others = loads[1 - factor].position->of(var) != 0;
      apart &= own != others && (own ? made.columns.empty() : true);
      (own ? made.rows : made.columns).push_back(var);
    }
    if (apart && !made.rows.empty() && !made.columns.empty()) return made;
  }
  return std::nullopt;
}

bool Fuser::LayRowsOfProducts() {
  std::set<std::size_t> products;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsProduct(pieces_[i]) || memory_.IsOutput(pieces_[i].buffer)) continue;
    if (const auto turned = MadeInOrderOfReader(i)) {
      products.insert(*turned);
      continue;
    }
    if (LayAsItsRows(i)) products.insert(i);
  }
  InlineViews(&products);  // what only turned their rows
  return !products.empty();
}

// Also of rows that a map turned first, as it would have had too few side by side.
bool Fuser::LayAsItsRows(std::size_t product) {
  const auto lay = [&](Piece read) {
    const auto made = RowsOf(read);
    if (!made || made->AreTiles()) return false;
    std::vector<IndexVar> order = made->rows;
    std::ranges::stable_sort(order, std::greater(), [&](const IndexVar& var) { return made->at.of(var); });
    if (!Rows{made->buffer, order, {}, made->at}.AreOne()) return false;
    order.insert(order.end(), made->columns.begin(), made->columns.end());
    std::swap(pieces_[product], read);
    Learn(product);
    if (LayAs(product, order)) return true;
    std::swap(pieces_[product], read);
    Learn(product);
    return false;
  };
  if (lay(pieces_[product])) return true;
  for (const int read : std::vector<int>(known_[product].reads)) {
    const int maker = maker_[Id(read)];
    if (maker < 0 || memory_.IsOutput(read) || !IsSimpleMap(Id(maker)) || !known_[Id(maker)].plain ||
        pieces_[Id(maker)].value->kind != Expr::Kind::kLoad ||
        HeldAs(read) != HeldAs(memory_.Root(pieces_[Id(maker)].value->buffer)))
      continue;
    auto through = Inlined(pieces_[Id(maker)], pieces_[product]);
    if (!through || !lay(std::move(*through))) continue;
    if (Readers(read).empty()) Kill(Id(maker));
    return true;
  }
  return false;
}

// A product that one map alone reads, and turns, is made as that has it, and of what lies so, if a map lays that out
// for the product alone. An output that is nothing but that is the product then.
std::optional<std::size_t> Fuser::MadeInOrderOfReader(std::size_t product) {
  const int buffer = pieces_[product].buffer;
  const auto readers = Readers(buffer);
  if (readers.size() != 1 || !IsSimpleMap(readers[0]) || !known_[readers[0]].plain) return std::nullopt;
  Piece& reader = pieces_[readers[0]];
  std::optional<Affine> read;
  for (const FlatLoad& load : memory_.Loads(reader.value)) {
    if (load.buffer != buffer) continue;
    if (read || !load.position) return std::nullopt;
    read = load.position;
  }
  if (!read || !reader.also.empty() || *read == OwnPosition(reader.space) ||
      ElementCount(Extents(reader.space)) != ElementCount(Extents(pieces_[product].space)))
    return std::nullopt;
  const auto& buffers = memory_.graph().buffers();
  const bool is_output = memory_.IsOutput(reader.buffer) && reader.value->kind == Expr::Kind::kLoad;
  if (is_output && buffers[Id(reader.buffer)].dtype != buffers[Id(buffer)].dtype) return std::nullopt;
  auto made = ReadAt(pieces_[product], *read, reader.space);
  const auto rows = made ? RowsOf(*made) : std::nullopt;
  if (!rows || (!rows->AreOne() && !LayFactorFor(*made, *rows) && !rows->AreTiles())) return std::nullopt;
  if (is_output) {
    made->buffer = reader.buffer;
    Kill(product);
    reader = std::move(*made);
    Learn(readers[0]);
    return readers[0];
  }
  const Expr own = ToExpr(OwnPosition(reader.space), reader.space);
  reader.value = ReplaceLoads(reader.value, [&](const ExprNode& load) {
    return memory_.Root(load.buffer) == buffer ? Load(buffer, {own}, load.type) : Expr();
  });
  pieces_[product] = std::move(*made);
  Learn(product);
  Learn(readers[0]);
  return product;
}

namespace {

// Whether a map does nothing but lay some batches of what it reads side by side in its rows, [.., heads.., M, E] as
// [.., M, heads.., E], which attention does itself.
bool LaysHeads(const Memory& memory, const Piece& map) {
  const auto from = map.value->kind == Expr::Kind::kLoad ? memory.Position(*map.value) : std::nullopt;
  if (!from) return false;
  std::vector<std::int64_t> steps;
  for (const IndexVar& var : map.space) steps.push_back(from->of(var));
  std::vector<std::int64_t> sorted = steps;
  std::ranges::sort(sorted, std::greater());
  for (std::size_t heads = 0; heads < steps.size(); ++heads) {
    for (std::size_t rows = heads; rows < steps.size(); ++rows) {
      for (std::size_t end = rows; end < steps.size(); ++end) {
        std::vector<std::int64_t> laid = sorted;
        const auto at = [&](std::size_t place) { return laid.begin() + static_cast<std::ptrdiff_t>(place); };
        std::rotate(at(heads), at(rows), at(end));
        if (laid == steps) return true;
      }
    }
  }
  return false;
}

}  // namespace

// Has the map that makes the factor with a product's rows, for that alone, make it as the product goes through it.
bool Fuser::LayFactorFor(Piece& product, const Rows& rows) {
  const int maker = maker_[Id(rows.buffer)];
  if (maker < 0 || !IsSimpleMap(Id(maker)) || !known_[Id(maker)].plain || memory_.IsOutput(rows.buffer) ||
      readers_[Id(rows.buffer)].size() != 1)
    return false;
  const auto strides = DenseStrides(Extents(pieces_[Id(maker)].space));
  std::vector<IndexVar> along = rows.rows, space;
  along.insert(along.end(), product.fold->over.begin(), product.fold->over.end());
  if (ElementCount(Extents(along)) != ElementCount(Extents(pieces_[Id(maker)].space))) return false;
  Affine from;
  for (const IndexVar& var : along) {
    const std::int64_t step = rows.at.of(var);
    const auto parts = step > 0 ? DimensionsApart(var, step, strides) : std::nullopt;
    if (!parts) return false;
    std::int64_t left = var.extent;
    for (const IndexVar& part : *parts) {
      left /= part.extent;
      from.coefficient[part.id] = step * left;
      space.push_back(part);
    }
  }
  auto laid = ReadAt(pieces_[Id(maker)], from, space);
  // What attention lays out itself needs no map.
  if (!laid || (LaysHeads(memory_, pieces_[Id(maker)]) && !LaysHeads(memory_, *laid))) return false;
  pieces_[Id(maker)] = std::move(*laid);
  Learn(Id(maker));
  product.fold->body = ReplaceLoads(product.fold->body, [&](const ExprNode& load) {
    return memory_.Root(load.buffer) == rows.buffer
               ? Load(rows.buffer, {ToExpr(OwnPosition(along), along)}, ScalarType::kReal)
               : Expr();
  });
  return true;
}

}  // namespace hone::expert
