#include "propose/expert/spelled_product.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "propose/expert/fuser.h"

namespace hone::expert {
namespace {

// A product of fewer rows, columns or terms is a sum for each element, which reads little more.
constexpr std::int64_t kLeast = 16;

// Whether a factor goes through the indices, the first outermost, as through one.
bool LiesAsOne(const Affine& position, const std::vector<IndexVar>& vars) {
  for (std::size_t i = 1; i < vars.size(); ++i) {
    if (position.of(vars[i - 1]) != position.of(vars[i]) * vars[i].extent) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<IndexVar>> ProductOrderOf(const Memory& memory, const Piece& piece) {
  if (!piece.fold || !piece.statistics.empty() || !piece.also.empty() || !piece.inside.empty() ||
      !IsPlain(memory, piece) || !IsContraction(memory, *piece.fold))
    return std::nullopt;
  const auto& factors = piece.fold->body->operands;
  if (factors[0]->kind != Expr::Kind::kLoad || factors[1]->kind != Expr::Kind::kLoad) return std::nullopt;
  const auto a = memory.Position(*factors[0]), b = memory.Position(*factors[1]);
  if (!a || !b) return std::nullopt;
  std::vector<IndexVar> space, of_a, of_b;
  for (const IndexVar& var : piece.space) {
    const bool in_a = a->of(var) != 0, in_b = b->of(var) != 0;
    if (!in_a && !in_b && var.extent > 1) return std::nullopt;
    (in_a == in_b ? space : in_a ? of_a : of_b).push_back(var);
  }
  const auto& terms = piece.fold->over;
  for (const IndexVar& var : terms) {
    if (a->of(var) == 0 || b->of(var) == 0) return std::nullopt;
  }
  if (ElementCount(Extents(of_a)) < kLeast || ElementCount(Extents(of_b)) < kLeast ||
      ElementCount(Extents(terms)) < kLeast || !LiesAsOne(*a, of_a) || !LiesAsOne(*b, of_b) || !LiesAsOne(*a, terms) ||
      !LiesAsOne(*b, terms))
    return std::nullopt;
  // Columns are whose last index comes last: what lies so already stays as it is.
  const auto place = [&](const IndexVar& var) {
    return std::ranges::find_if(piece.space, [&](const IndexVar& other) { return other.id == var.id; });
  };
  if (place(of_a.back()) > place(of_b.back())) std::swap(of_a, of_b);
  space.insert(space.end(), of_a.begin(), of_a.end());
  space.insert(space.end(), of_b.begin(), of_b.end());
  return space;
}

// The dimensions of a map in the order in which it goes through all of what a product makes; nothing if it goes through
// that in its own.
std::optional<std::vector<IndexVar>> Fuser::OrderOfProduct(const Piece& map) const {
  const auto extents = Extents(map.space);
  for (const auto& load : memory_.Loads(map.value)) {
    const int maker = maker_[Id(load.buffer)];
    if (maker < 0 || !IsProduct(pieces_[Id(maker)]) || !load.position ||
        ElementCount(Extents(pieces_[Id(maker)].space)) != ElementCount(extents))
      continue;
    std::vector<IndexVar> order = map.space;
    std::ranges::stable_sort(order, std::greater(), [&](const IndexVar& var) { return load.position->of(var); });
    if (*load.position != OwnPosition(order) || *load.position == OwnPosition(map.space)) continue;
    return order;
  }
  return std::nullopt;
}

// What is made of each element of a product lies as that does, where a product reads it and nobody else but maps: then
// it is the product's end.
void Fuser::LayMapsAsProducts() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !IsSimpleMap(i) || !known_[i].plain || memory_.IsOutput(pieces_[i].buffer) ||
        !pieces_[i].also.empty())
      continue;
    const auto order = OrderOfProduct(pieces_[i]);
    const auto readers = Readers(pieces_[i].buffer);
    const auto reads = [&](std::size_t reader) { return IsProduct(pieces_[reader]) || IsSimpleMap(reader); };
    if (!order || !std::ranges::all_of(readers, reads) ||
        std::ranges::none_of(readers, [&](std::size_t reader) { return IsProduct(pieces_[reader]); }))
      continue;
    LayAs(i, *order);
  }
}

// The piece, which makes its buffer over these of its dimensions then; false where a reader cannot follow.
bool Fuser::LayAs(std::size_t at, const std::vector<IndexVar>& order) {
  if (OwnPosition(order) == OwnPosition(pieces_[at].space)) return true;
  Piece view{.buffer = pieces_[at].buffer, .space = pieces_[at].space};
  view.value = Load(view.buffer, {ToExpr(OwnPosition(order), order)}, ScalarType::kReal);
  if (!ReadElsewhere(view)) return false;
  pieces_[at].space = order;
  Learn(at);
  return true;
}

// What `map` has made is the product in its own order, and the output reads that in the output's.
bool Fuser::MakeForOutput(std::size_t map, std::size_t output, const std::vector<IndexVar>& order, Fold fold) {
  const Piece& sum = pieces_[output];
  const int buffer = pieces_[map].buffer;
  const auto& buffers = memory_.graph().buffers();
  const Range& range = memory_.RangeOf(buffer);
  if (buffers[Id(buffer)].dtype != buffers[Id(sum.buffer)].dtype || std::isfinite(range.low) ||
      std::isfinite(range.high))
    return false;
  Piece product{.buffer = buffer, .space = order, .fold = std::move(fold)};
  Piece view{.buffer = sum.buffer, .space = sum.space};
  view.value = Load(buffer, {ToExpr(OwnPosition(order), order)}, ScalarType::kReal);
  pieces_[map] = std::move(product);
  pieces_[output] = std::move(view);
  Learn(map);
  Learn(output);
  return true;
}

// Sums of what a map multiplies for them alone; once they are products, no other map goes into them.
void Fuser::FindSpelledProducts() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!known_[i].alive || !pieces_[i].fold || pieces_[i].fold->op != ReduceOp::kSum || known_[i].reads.size() != 1)
      continue;
    const int read = known_[i].reads[0];
    if (maker_[Id(read)] < 0 || memory_.IsOutput(read) || readers_[Id(read)].size() != 1) continue;
    const auto map = Id(maker_[Id(read)]);
    auto sum = IsSimpleMap(map) ? Inlined(pieces_[map], pieces_[i]) : std::nullopt;
    const auto order = sum ? ProductOrderOf(memory_, *sum) : std::nullopt;
    if (!order) continue;
    if (memory_.IsOutput(sum->buffer) && OwnPosition(*order) != OwnPosition(sum->space)) {
      MakeForOutput(map, i, *order, std::move(*sum->fold));
    } else if (LayAs(i, *order)) {
      Kill(map);
      pieces_[i].fold = std::move(sum->fold);
      Learn(i);
    }
  }
}

}  // namespace hone::expert
