// A product of numbers of 8 bits whose blocks along K have scales: result[m, n] = sum over blocks l and k in each of
// a[m, l, k] * b[l, k, n] * scale, which varies with l and not with k: scaled_matmul. Rows and columns that share a
// scale are a dimension of their own, too.
#include <functional>

#include "propose/expert/recognise/recognise.h"

namespace hone::expert::recogniser_scaled_product {
namespace {

// Dimensions that an operand has, one or two, as one: of blocks and in each, or of elements alone.
struct Side {
  std::vector<IndexVar> dims;
  IndexVar joined = NewIndex(1);
};

// An index that stands for blocks of another: floordiv(of, size).
struct Blocks {
  IndexVar index, of;
  std::int64_t size = 1;
};
// The expression with such an index for each quotient of one of `vars`.
Expr WithBlocks(const Expr& expr, const std::vector<IndexVar>& vars, std::vector<Blocks>& blocks) {
  return Rewrite(expr, [&](const Expr& e) -> Expr {
    if (!IsBinary(e, BinaryOp::kFloorDiv) || e->operands[0]->kind != Expr::Kind::kIndex ||
        e->operands[1]->kind != Expr::Kind::kConst || e->operands[1]->whole < 2)
      return {};
    const IndexVar of = e->operands[0]->index;
    const std::int64_t size = e->operands[1]->whole;
    if (std::ranges::none_of(vars, [&](const IndexVar& var) { return var.id == of.id; })) return {};
    const auto known =
        std::ranges::find_if(blocks, [&](const Blocks& one) { return one.of.id == of.id && one.size == size; });
    if (known != blocks.end()) return known->index;
    blocks.push_back({NewIndex((of.extent + size - 1) / size), of, size});
    return blocks.back().index;
  });
}

// A position with one index for the two of a side; nothing if they are not neighbours there.
std::optional<Affine> Joined(Affine position, const Side& side) {
  if (side.dims.empty()) return position;
  const std::int64_t step = position.of(side.dims.back());
  if (side.dims.size() == 2 && position.of(side.dims[0]) != step * side.dims[1].extent) return std::nullopt;
  for (const IndexVar& var : side.dims) position.coefficient.erase(var.id);
  if (step != 0) position.coefficient[side.joined.id] = step;
  return position;
}

void Factors(const Expr& e, const IndexVar& in_block, std::vector<Expr>& multiplied, Expr& scale) {
  if (IsBinary(e, BinaryOp::kMul)) {
    Factors(e->operands[0], in_block, multiplied, scale);
    Factors(e->operands[1], in_block, multiplied, scale);
  } else if (UsesIndex(e, in_block.id)) {
    multiplied.push_back(e);
  } else {
    scale = scale ? scale * e : e;
  }
}

std::optional<dsl::Statement> RecogniseScaledProduct(Names& names, const Piece& as_it_is) {
  if (!as_it_is.fold || as_it_is.fold->op != ReduceOp::kSum || as_it_is.fold->over.size() != 2) return std::nullopt;
  const Memory& memory = names.memory();
  Piece piece = as_it_is;
  // Blocks of which the last is smaller.
  std::vector<Blocks> smaller;
  piece.fold->body = WithBlocks(piece.fold->body, piece.space, smaller);
  if (!IsPlain(memory, piece)) return std::nullopt;
  if (smaller.empty()) MergeDimensions(memory, piece);
  if (piece.fold->over.size() != 2 || piece.space.size() < 2 || piece.space.size() > 4) return std::nullopt;
  const IndexVar in_block = piece.fold->over[1];
  std::vector<Expr> multiplied;
  Expr scale;
  Factors(piece.fold->body, in_block, multiplied, scale);
  if (!scale || multiplied.size() != 2 || multiplied[0]->kind != Expr::Kind::kLoad ||
      multiplied[1]->kind != Expr::Kind::kLoad)
    return std::nullopt;
  auto a = memory.Position(*multiplied[0]), b = memory.Position(*multiplied[1]);
  if (!a || !b) return std::nullopt;
  int a_buffer = memory.Root(multiplied[0]->buffer), b_buffer = memory.Root(multiplied[1]->buffer);
  if (b->of(piece.space.back()) == 0) {
    std::swap(a, b);
    std::swap(a_buffer, b_buffer);
  }
  // The rows are a's alone, the columns behind them b's.
  Side m, n, k{.dims = piece.fold->over};
  for (const IndexVar& var : piece.space) {
    const bool of_a = a->of(var) != 0;
    if (of_a == (b->of(var) != 0) || (of_a && !n.dims.empty())) return std::nullopt;
    (of_a ? m : n).dims.push_back(var);
  }
  for (Side* side : {&m, &n, &k}) {
    if (side->dims.empty() || side->dims.size() > 2) return std::nullopt;
    std::int64_t extent = 1;
    for (const IndexVar& var : side->dims) extent *= var.extent;
    side->joined = NewIndex(extent);
  }
  const auto join = [&](std::optional<Affine> position) {
    for (const Side* side : {&m, &n, &k}) position = position ? Joined(*position, *side) : std::nullopt;
    return position;
  };
  a = join(a);
  b = join(b);
  const auto a_name = a ? names.Matrix(a_buffer, *a, {}, m.joined, k.joined) : std::nullopt,
             b_name = b ? names.Matrix(b_buffer, *b, {}, k.joined, n.joined) : std::nullopt;
  if (!a_name || !b_name) return std::nullopt;

  // Where a scale does not vary along single rows or columns, all of them are a block.
  std::vector<IndexVar> blocks;
  dsl::Statement statement;
  for (const Side* side : {&m, &n, &k}) {
    const auto cut = std::ranges::find_if(smaller, [&](const Blocks& one) { return one.of.id == side->dims[0].id; });
    const bool two = side->dims.size() == 2, single = !two && UsesIndex(scale, side->dims[0].id),
               some = !two && !single && cut != smaller.end();
    blocks.push_back(two || single ? side->dims[0] : some ? cut->index : NewIndex(1));
    statement.attributes["block"].push_back(two      ? side->dims[1].extent
                                            : single ? 1
                                            : some   ? cut->size
                                                     : side->joined.extent);
  }
  const auto of_block = names.Term(scale, blocks, {.values = {}, .lets = {}});
  if (!of_block) return std::nullopt;
  bool joins = true;
  const std::vector<IndexVar> space = {m.joined, n.joined};
  const Expr finish = ReplaceLoads(piece.fold->finish, [&](const ExprNode& load) -> Expr {
    const auto position = join(memory.Position(load));
    joins &= position.has_value();
    return position ? Load(memory.Root(load.buffer), {ToExpr(*position, space)}, load.type) : Expr();
  });
  if (!joins) return std::nullopt;
  statement.family = "scaled_matmul";
  statement.operands = {dsl::Name(*a_name), dsl::Name(*b_name)};
  statement.lets.push_back({names.Fresh("scale"), *of_block, {}});
  statement.target_shape = Extents(space);
  if (!AddEpilogue(names, statement, finish, space)) return std::nullopt;
  return statement;
}

}  // namespace

HONE_ROW(Recogniser){.name = "scaled_product", .form = Form::kAsItIs, .place = 6, .recognise = RecogniseScaledProduct};

}  // namespace hone::expert::recogniser_scaled_product
