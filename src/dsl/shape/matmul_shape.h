// What a matmul multiplies, as its back ends see it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {

// The matrices as loops see them: batches that all operands continue through have become rows. Of products of groups,
// the groups are the one batch, and it is reduced: each row of A is of one of them. Where batches choose their B, the
// matrices to be chosen from are the last batch, and it is reduced: each of the others is of one of them. Where columns
// are folded in groups, the target's stride along n is from one group to the next.
struct MatmulShape {
  std::vector<LoopDim> batch;
  LoopDim m, n, k;
  std::vector<std::vector<std::int64_t>> strides;  // operand -> batch..., m, n, k
  std::vector<std::int64_t> target;                // likewise

  // Batches whose columns n goes through, outermost first, as WithHeads has them; how many columns each has; and how
  // many of n lie side by side in the target.
  std::vector<LoopDim> heads;
  std::int64_t head = 1, row = 1;

  bool chooses = false;  // HasChoice

  explicit MatmulShape(const Kernel& kernel);

  // Likewise, but n goes through the last batches as well along which A is the same and what it is multiplied with has
  // one's columns behind another's, as the heads of a model are. `strides` and `target` stay as they are.
  static MatmulShape WithHeads(const Kernel& kernel);

  // How many groups of rows there are; 0 where all rows are multiplied with the same B of their batch.
  std::int64_t groups() const { return !chooses && !batch.empty() && batch[0].reduced ? batch[0].extent : 0; }

  // As it is of one group, where all have as many rows.
  static MatmulShape OfOneGroup(const Kernel& kernel);

  // An index a dimension, in the order of `strides`; j counts through all of n.
  std::vector<std::string> Index(const std::string& i, const std::string& j, const std::string& p) const;
  // The places of the heads and of the column in the last of them, which stand there for j.
  std::vector<std::string> Heads(const std::string& j) const;
  std::string Column(const std::string& j) const;
};

// Whether a third operand says where segments of K end, each of which is a product by itself; or groups of rows; or
// which matrix each batch is multiplied with (families/matmul.cc).
inline bool HasSegments(const Kernel& kernel) { return kernel.inputs.size() == 3 && kernel.axes.size() == 1; }
inline bool HasGroups(const Kernel& kernel) {
  return kernel.inputs.size() == 3 && kernel.axes.size() == 2 && kernel.axes[0] == 0;
}
inline bool HasChoice(const Kernel& kernel) {
  return kernel.inputs.size() == 3 && kernel.axes.size() == 2 && kernel.axes[0] > 0;
}

// Whether blocks of the operands have scales of their own, which the one let makes. The first three dimensions of the
// space are the blocks of rows, of columns and of K then.
inline bool HasBlocks(const Kernel& kernel) { return kernel.attributes.contains("block"); }
// How many rows of A, columns of B and elements of K share a scale.
struct ScaleBlock {
  std::int64_t rows, columns, depth;
};
ScaleBlock BlockOf(const Kernel& kernel);
// Into groups of how many columns a row is cut, each of which is folded by itself (families/matmul_reduce.cc); 0 where
// a row is folded whole. The groups are the first dimension of the space, along which nothing varies.
std::int64_t ColumnsOfGroup(const Kernel& kernel);

// How many products of numbers are added: each row, each term and each batch is of one group alone.
double AddedProducts(const Kernel& kernel);

// A and B, and the right operands of the lets, where those are such: as many products as there are of right ones.
std::size_t ProductsOf(const Kernel& kernel);
inline const Expr& InputOf(const Kernel& kernel, std::size_t input) {
  return input < 2 ? kernel.inputs[input] : kernel.lets[input - 2].body;
}

// A family's shape rule (Family::shape) for operands A [.., M, K] and B [.., K, N] whose batches broadcast: the space
// is
// [.., M, N, K], the last dimension is folded. `family` is for what it says where they do not fit.
std::optional<std::string> SpaceOfProducts(std::string_view family, Kernel& kernel, const std::vector<Shape>& shapes,
                                           std::vector<std::vector<int>>& operand_dims);

// "j / of", "j % of", of numbers that are not below 0.
std::string Quotient(const std::string& j, std::int64_t of);
std::string Remainder(const std::string& j, std::int64_t of);

// Columns of a row of the result: of all heads that lie side by side in it.
std::int64_t ColumnsOfRow(const Kernel& kernel);
// How far apart the columns are that the chain rotates pairs of (RotatedValue), 0 if it does not; and why it cannot.
int RotationOf(const Kernel& kernel);
// Whether pairs of columns that are so far apart can be rotated: a tile of the tensor cores has both of them, and they
// are a thread's, or threads' that are powers of two apart.
constexpr bool RotatesBy(std::int64_t distance) {
  const bool power = distance > 0 && (distance & (distance - 1)) == 0;
  return power ? distance <= 128 : distance == 24 || distance == 48 || distance == 96;
}
std::optional<std::string> CheckRotation(const Kernel& kernel);

// Of a let, which is another B (Family::let_dims).
std::vector<int> DimsOfRight(const Kernel& kernel);

// What such families check alike: that reals are multiplied, and no value that is known behind the products only; that
// the target can hold what is computed; that the one let is the score, which is
// known no more behind the `behind`. Or why not.
std::optional<std::string> CheckOperandsOfProducts(const Kernel& kernel);
std::optional<std::string> CheckTargetOfProducts(const KernelProgram& program, const Kernel& kernel);
std::optional<std::string> CheckScore(const Kernel& kernel, std::string_view behind);

// The operand that the expression is, -1 if it is more than that.
int OperandOf(const Expr& expr);
// Whether every operand of the expression is contiguous in, or does not vary along, the dimension.
bool Contiguous(const Expr& expr, const std::vector<std::int64_t>& strides_of_dim);

}  // namespace hone::dsl
