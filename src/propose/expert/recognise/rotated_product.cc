// A product whose pairs of columns a map turns: one matmul, whose chain has what stands beside each column.
#include <algorithm>

#include "dsl/family.h"
#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_rotated_product {

namespace {

// A tile has this many rows; with fewer, or many that are left, it is not what takes the time.
constexpr std::int64_t kRows = 128;

bool FillsTiles(std::int64_t rows) { return (rows + kRows - 1) / kRows * kRows * 4 <= rows * 5; }

// Dimensions between rows and columns, with which the left operand does not go: heads that lie side by side in a row,
// which the language has before its rows. How many there are; -1: it has no rows.
std::int64_t MoveHeads(const Memory& memory, Piece& product) {
  if (product.space.size() < 2) return -1;
  const IndexVar column = product.space.back();
  std::optional<Affine> left;
  for (const FlatLoad& load : memory.Loads(product.fold->body)) {
    if (load.position && load.position->of(column) == 0) left = load.position;
  }
  const auto last = product.space.end() - 1;
  auto row = last;
  while (left && row != product.space.begin() && left->of(*(row - 1)) == 0) --row;
  if (!left || row == product.space.begin()) return -1;
  std::rotate(row - 1, row, last);
  return last - row;
}

// A product in as few dimensions as it has, whose end has dsl::RotatedValue; `known` is what that reads beside.
std::optional<dsl::Statement> RecogniseRotated(Names& names, const Piece& made, Names::Known known) {
  const Memory& memory = names.memory();
  const Expr end = made.fold->finish;
  Piece product = made;
  product.fold->finish = Value(kIt, ScalarType::kReal);
  const std::int64_t heads = MoveHeads(memory, product);
  if (heads < 0 || !FillsTiles(product.space[product.space.size() - 2].extent)) return std::nullopt;
  auto statement = RecogniseMatmul(names, product);
  if (!statement) return std::nullopt;
  if (heads > 0) statement->attributes["heads"] = {heads};
  statement->target_shape = Extents(made.space);
  Visit(end, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kValue && node.value != kIt)
      known.values[node.value] = dsl::Call("rotated", {dsl::Number(node.value.number)});
  });
  if (!AddEpilogue(names, *statement, end, made.space, known)) return std::nullopt;
  return statement;
}

std::optional<dsl::Statement> RecogniseRotatedProduct(Names& names, const Piece& piece) {
  const Memory& memory = names.memory();
  if (!piece.is_map() || piece.inside.size() != 1 || !piece.inside[0].fold || !IsPlain(memory, piece.inside[0]))
    return std::nullopt;
  auto made = RotatedProduct(memory, piece.inside[0], piece);
  if (!made) return std::nullopt;
  MergeDimensions(memory, *made);
  return RecogniseRotated(names, *made, {});
}

}  // namespace

HONE_ROW(Recogniser){
    .name = "rotated_product", .form = Form::kAround, .place = 25, .recognise = RecogniseRotatedProduct};

}  // namespace hone::expert::recogniser_rotated_product

namespace hone::expert {

std::optional<dsl::Statement> RecogniseRotatedHeads(Names& names, const RotatedHeads& made, dsl::Statement& numbers) {
  const IndexVar& head = made.head;
  Piece product = made.product;
  MergeDimensions(names.memory(), product);
  Names::Known known;
  if (UsesIndex(made.product.fold->finish, head.id)) {
    const auto at = std::ranges::find(product.space, head.id, &IndexVar::id);
    if (at == product.space.end()) return std::nullopt;
    numbers.family = "nest";
    numbers.loops = {{names.IndexNames(1, {})[0], head.extent}};
    numbers.operands = {dsl::Name(numbers.loops[0].name)};
    numbers.target = names.Fresh("heads");
    numbers.target_shape = {head.extent};
    Shape shape(static_cast<std::size_t>(product.space.end() - at), 1);  // aligned at the last column
    std::vector<std::int64_t> strides(shape.size(), 0);
    shape[0] = head.extent;
    strides[0] = 1;
    const int buffer = names.CallNew(numbers.target, numbers.target_shape, DType::kI64);
    const auto view = names.View(buffer, shape, strides, 0, Broadcast::kForbidden);
    if (!view) return std::nullopt;
    known.indices[head.id] = dsl::Name(*view);
  }
  return recogniser_rotated_product::RecogniseRotated(names, product, std::move(known));
}

}  // namespace hone::expert
