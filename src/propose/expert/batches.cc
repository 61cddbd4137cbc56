// The dimensions of a map in what reads it. A product's batches: heads that share keys are then a dimension of their
// own, along which the keys do not vary. Its rows, where they are samples' and its end has something of each sample.
// Rows that a reader has as one, of sequences that a map has cut: then it can read what the map does.
#include <algorithm>
#include <map>

#include "dsl/cuda/attention_held.h"
#include "propose/expert/fuser.h"
#include "propose/expert/held_rows.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

std::optional<std::vector<IndexVar>> DimensionsApart(const IndexVar& var, std::int64_t step,
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

namespace {

bool VariesWith(const FlatLoad& load, const IndexVar& var) { return load.position && load.position->of(var) > 0; }

// The product with those of its dimensions apart where `strides` end; with them `position` goes. No part of one is left
// with fewer than `fewest` inside.
template <class Splits>
std::optional<Piece> WithDimensionsApart(const Piece& product, const Affine& position,
                                         const std::vector<std::int64_t>& strides, const Splits& splits,
                                         std::int64_t fewest = 1) {
  std::vector<IndexVar> space;
  for (const IndexVar& var : product.space) {
    const auto parts =
        splits(var) ? DimensionsApart(var, position.of(var), strides) : std::vector{NewIndex(var.extent)};
    if (!parts || (parts->size() > 1 && parts->back().extent < fewest)) return std::nullopt;
    space.insert(space.end(), parts->begin(), parts->end());
  }
  return space.size() > product.space.size() ? OverSpace(product, space) : std::nullopt;
}

// Its batches are what both its factors vary with.
std::optional<Piece> WithBatchesApart(const Memory& memory, const Piece& product, const Affine& position,
                                      const std::vector<std::int64_t>& strides) {
  const auto loads = memory.Loads(product.fold->body);
  return WithDimensionsApart(product, position, strides, [&](const IndexVar& var) {
    return std::ranges::all_of(loads, [&](const auto& load) { return VariesWith(load, var); });
  });
}

}  // namespace

std::optional<Piece> WithBatchesOf(const Memory& memory, const Piece& map, const Piece& product) {
  const auto loads = memory.Loads(product.fold->body);
  const auto read = std::find_if(loads.begin(), loads.end(), [&](const auto& l) { return l.buffer == map.buffer; });
  if (read == loads.end() || !read->position) return std::nullopt;
  return WithBatchesApart(memory, product, *read->position, DenseStrides(Extents(map.space)));
}

std::optional<Piece> WithBatchesOfReader(const Memory& memory, const Piece& product, const Piece& map) {
  return WithBatchesApart(memory, product, OwnPosition(product.space), DenseStrides(Extents(map.space)));
}

std::optional<Piece> WithRowsOfReader(const Memory& memory, const Piece& product, const Piece& map) {
  constexpr std::int64_t kFewest = 128;  // a tile of them
  const auto loads = memory.Loads(product.fold->body);
  const IndexVar& column = product.space.back();
  const auto is_row = [&](const IndexVar& var) {
    const auto varies = [&](const auto& load) { return VariesWith(load, var); };
    const auto one = std::ranges::find_if(loads, varies);
    return std::ranges::count_if(loads, varies) == 1 && !VariesWith(*one, column);
  };
  return WithDimensionsApart(product, OwnPosition(product.space), DenseStrides(Extents(map.space)), is_row, kFewest);
}

std::optional<Piece> WithDimensionsOf(const Memory& memory, const Piece& map, const Piece& reader) {
  const bool has_axes = !reader.fold && !reader.statistics.empty();
  if (reader.sequence >= 0 || has_axes || !reader.inside.empty() || !reader.also.empty()) return std::nullopt;
  std::map<int, std::int64_t> steps;  // by index: how far apart its neighbours are in what the map makes
  bool alike = true;
  EachExpr(reader, [&](const Expr& expr) {
    Visit(expr, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad || memory.Root(node.buffer) != map.buffer) return;
      const Shape& shape = memory.shape(node.buffer);
      const auto strides = node.operands.size() == 1 ? DenseStrides({1}) : DenseStrides(shape);
      for (std::size_t d = 0; d < node.operands.size(); ++d) {
        const auto index = AffineOf(node.operands[d]);  // what depends on data is the same in any dimensions
        if (!index) continue;
        for (const auto& [id, coefficient] : index->coefficient) {
          const std::int64_t step = coefficient * strides[d];
          alike &= steps.try_emplace(id, step).first->second == step;
        }
      }
    });
  });
  if (!alike) return std::nullopt;
  const auto strides = DenseStrides(Extents(map.space));
  std::vector<IndexVar> space;
  for (const IndexVar& var : reader.space) {
    const auto step = steps.find(var.id);
    const auto parts = step != steps.end() && step->second > 0 ? DimensionsApart(var, step->second, strides)
                                                               : std::vector{NewIndex(var.extent)};
    if (!parts) return std::nullopt;
    space.insert(space.end(), parts->begin(), parts->end());
  }
  return space.size() > reader.space.size() ? OverSpace(reader, space) : std::nullopt;
}

// Where a product has its batches as one dimension (as bmm does, of batches and heads, and any product of heads of
// which some share keys), and a map that only moves elements has them as several, the product has several, too: then
// it can read what the map does. False where there was none. `of_one_type`: maps that convert elements, too, stay,
// since factors of two types may keep attention from being found.
bool Fuser::SplitBatches(bool of_one_type) {
  bool any = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsProduct(pieces_[i])) continue;
    for (const int read : std::vector<int>(known_[i].reads)) {
      const int maker = maker_[Id(read)];
      if (maker < 0 || memory_.IsOutput(read)) continue;
      const auto map = static_cast<std::size_t>(maker);
      if (!IsSimpleMap(map) || pieces_[map].value->kind != Expr::Kind::kLoad || !known_[map].plain ||
          (of_one_type && HeldAs(read) != HeldAs(memory_.Root(pieces_[map].value->buffer))) ||
          Inlined(pieces_[map], pieces_[i]))
        continue;
      const auto split = WithBatchesOf(memory_, pieces_[map], pieces_[i]);
      auto changed = split ? Inlined(pieces_[map], *split) : std::nullopt;
      if (!changed) continue;
      pieces_[i] = std::move(*changed);
      Learn(i);
      any = true;
    }
  }
  return any;
}

// Where keys of 8 bits are repeated for the heads that share them before a map scales them, the map has those heads as
// a dimension of their own, and so have the products that read it: then it reads the keys where they lie.
void Fuser::SplitHeldHeads() {
  const auto repeats = [&](int buffer) {
    const int maker = maker_[Id(buffer)];
    if (maker < 0 || memory_.IsOutput(buffer)) return false;
    const Piece& map = pieces_[Id(maker)];
    if (!IsSimpleMap(Id(maker)) || !known_[Id(maker)].plain || map.value->kind != Expr::Kind::kLoad) return false;
    const auto position = memory_.Position(*map.value);
    return std::ranges::any_of(map.space,
                               [&](const IndexVar& var) { return var.extent > 1 && position->of(var) == 0; });
  };
  const auto repeats_held = [&](int buffer) {
    return dsl::IsHeldInEightBits(memory_.graph().buffers()[Id(buffer)].dtype) && repeats(buffer);
  };
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsSimpleMap(i) || !known_[i].plain || !ScalesEightBits(memory_, pieces_[i]) ||
        std::ranges::none_of(known_[i].reads, repeats_held))
      continue;
    bool split = false;
    for (const int read : std::vector<int>(known_[i].reads)) {
      if (!repeats(read)) continue;
      const Piece& map = pieces_[Id(maker_[Id(read)])];
      const auto apart = WithDimensionsOf(memory_, map, pieces_[i]);
      auto changed = Inlined(map, apart ? *apart : pieces_[i]);
      if (!changed) continue;
      pieces_[i] = std::move(*changed);
      Learn(i);
      split = true;
    }
    for (const std::size_t reader : split ? Readers(pieces_[i].buffer) : std::vector<std::size_t>()) {
      auto with = IsProduct(pieces_[reader]) ? WithBatchesOf(memory_, pieces_[i], pieces_[reader]) : std::nullopt;
      if (!with) continue;
      pieces_[reader] = std::move(*with);
      Learn(reader);
    }
  }
}

}  // namespace hone::expert
