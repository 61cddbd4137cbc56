// result[batch.., m, n] = sum over k of a[batch.., m, k] * b[number[batch..], k, n]: matmul whose batches choose their
// matrix of B, which a map would look up and copy for each.
#include <algorithm>

#include "propose/expert/pages.h"
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_chosen_product {
namespace {

// The factor that its map looks up, and the other one.
struct Sides {
  FlatLoad chosen, other;
};
std::optional<Sides> SidesOf(const Memory& memory, const Piece& piece) {
  if (!piece.fold || piece.fold->op != ReduceOp::kSum || piece.fold->over.size() != 1 || piece.looked_up.size() != 1 ||
      piece.fold->body->operands.size() != 2)
    return std::nullopt;
  const auto loads = memory.Loads(piece.fold->body);
  const auto& factors = piece.fold->body->operands;
  const auto is_load = [](const Expr& factor) { return factor->kind == Expr::Kind::kLoad; };
  if (loads.size() != 2 || !std::ranges::all_of(factors, is_load) || !loads[0].position || !loads[1].position)
    return std::nullopt;
  const bool first = loads[0].buffer == piece.looked_up[0].buffer;
  const Sides sides = {loads[first ? 0 : 1], loads[first ? 1 : 0]};
  if (sides.chosen.buffer != piece.looked_up[0].buffer || sides.other.buffer == sides.chosen.buffer)
    return std::nullopt;
  return sides;
}

// How many of the index's places are within one dimension of the map; nothing if all are.
std::optional<std::int64_t> InOneDimension(const Piece& map, const FlatLoad& load, const IndexVar& var) {
  const auto extents = Extents(map.space);
  const auto strides = DenseStrides(extents);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (strides[d] == load.position->of(var) && extents[d] > 1 && extents[d] < var.extent &&
        var.extent % extents[d] == 0)
      return extents[d];
  }
  const auto rows = RowsOfPage(map, load, var);  // of one that has a matrix in one dimension
  return rows && *rows > 1 && *rows < var.extent ? rows : std::nullopt;
}

void SplitDimension(Piece& piece, std::size_t d, std::int64_t inner) {
  const IndexVar all = piece.space[d], many = NewIndex(all.extent / inner), few = NewIndex(inner);
  const auto with = [&](const Expr& e) {
    return Substitute(
        e, [&](const IndexVar& var) { return var.id == all.id ? Expr(many) * Expr(inner) + Expr(few) : Expr(); });
  };
  piece.fold->body = with(piece.fold->body);
  piece.fold->finish = with(piece.fold->finish);
  piece.space[d] = many;
  piece.space.insert(piece.space.begin() + static_cast<std::ptrdiff_t>(d) + 1, few);
}

// The product in as few dimensions as it has, but for those in which the map has its matrices: columns that several of
// them make are columns of each; of one row where the other factor has none for a matrix.
std::optional<Piece> InBatches(const Memory& memory, const Piece& piece) {
  Piece made = piece;
  made.looked_up.clear();  // whose loads are no positions
  if (!IsPlain(memory, made)) return std::nullopt;
  MergeDimensions(memory, made);
  made.looked_up = piece.looked_up;
  auto sides = SidesOf(memory, made);
  if (!sides || made.space.empty() || sides->chosen.position->of(made.space.back()) == 0) return std::nullopt;
  const std::size_t columns = made.space.size() - 1;
  bool several = false;
  for (std::size_t d = made.space.size(); d-- > 0;) {
    while (const auto inner = InOneDimension(made.looked_up[0], sides->chosen, made.space[d])) {
      several |= d == columns;
      SplitDimension(made, d, *inner);
      sides = SidesOf(memory, made);
      if (!sides) return std::nullopt;
    }
  }
  const std::size_t row = made.space.size() - 2;
  const bool has_rows = !several && made.space.size() > 2 && sides->chosen.position->of(made.space[row]) == 0 &&
                        sides->other.position->of(made.space[row]) != 0;
  if (!has_rows) made.space.insert(made.space.end() - 1, NewIndex(1));
  return made;
}

std::optional<dsl::Statement> OneChosenProduct(Names& names, const Piece& piece) {
  const Memory& memory = names.memory();
  const auto sides = SidesOf(memory, piece);
  if (!sides || piece.space.size() < 3) return std::nullopt;
  const std::vector<IndexVar> batches(piece.space.begin(), piece.space.end() - 2);
  const IndexVar m = piece.space[batches.size()], n = piece.space.back(), k = piece.fold->over[0];
  std::vector<IndexVar> vars = piece.space;
  vars.push_back(k);
  // A matrix is a page of a row each.
  const auto found =
      PagedRowsOf(memory, piece.looked_up[0], sides->chosen, NewIndex(1), NewIndex(1), NewIndex(1), vars);
  if (!found || UsesIndex(found->number, m.id) || UsesIndex(found->number, n.id) || UsesIndex(found->number, k.id))
    return std::nullopt;
  const Affine &a = sides->other.position.value(), &b = found->position;
  const auto one_for_all = [&](const IndexVar& var) { return b.of(var) == 0; };
  if (!std::ranges::all_of(batches, one_for_all) || b.of(m) != 0 || b.of(k) == 0 || b.of(n) == 0 || a.of(n) != 0 ||
      a.of(k) == 0)
    return std::nullopt;
  const auto a_name = names.Matrix(sides->other.buffer, a, batches, m, k),
             b_name = names.Matrix(found->buffer, b, {found->page}, k, n);
  const auto number = names.Term(found->number, batches, {});
  if (!a_name || !b_name || !number) return std::nullopt;
  dsl::Statement statement;
  statement.family = "matmul";
  statement.operands = {dsl::Name(*a_name), dsl::Name(*b_name), *number};
  statement.target_shape = Extents(piece.space);
  if (!AddEpilogue(names, statement, piece.fold->finish, piece.space)) return std::nullopt;
  return statement;
}

// One, or two that choose alike, of which the end of one reads the other.
std::optional<dsl::Statement> RecogniseChosenProduct(Names& names, const Piece& piece) {
  if (piece.looked_up.empty() || piece.inside.size() > 1) return std::nullopt;
  Piece last = piece;
  last.inside.clear();
  auto made = InBatches(names.memory(), last);
  if (!made) return std::nullopt;
  if (piece.inside.empty()) return OneChosenProduct(names, *made);
  auto first = InBatches(names.memory(), piece.inside[0]);
  if (!first) return std::nullopt;
  return RecogniseTogether(names, std::move(*made), std::move(*first), OneChosenProduct);
}

}  // namespace

HONE_ROW(Recogniser){.name = "chosen_product", .form = Form::kAround, .place = 45, .recognise = RecogniseChosenProduct};

}  // namespace hone::expert::recogniser_chosen_product
