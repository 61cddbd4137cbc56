// scaled_matmul(A, B): a matrix product of numbers of 8 bits whose blocks have scales of their own, along K, too.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl::family_scaled_matmul {
namespace {

constexpr Attribute kAttributes[] = {
    {"block", "rows of A x columns of B x elements of K that share a scale"},
};

// The space is [blocks of rows, of columns, of K, M, N, K].
std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape &a = shapes[0], &b = shapes[1];
  const std::string all = fmt::format("scaled_matmul of {} and {}", hone::ToString(a), hone::ToString(b));
  if (a.size() != 2 || b.size() != 2) return all + ": wants A [M, K] and B [K, N]";
  if (a[1] != b[0]) return fmt::format("{}: A's columns ({}) must be as many as B's rows ({})", all, a[1], b[0]);
  const auto block = kernel.attributes.find("block");
  if (block == kernel.attributes.end() || block->second.size() != 3)
    return all + ": says what shares a scale by rows x columns x K: write 'by {block: 1x128x128}'";
  const std::int64_t extents[] = {a[0], b[1], a[1]};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t size = block->second[d];
    if (size < 1) return all + ": a block has an element at least in each direction";
    kernel.space.push_back(NewIndex((extents[d] + size - 1) / size));
  }
  for (const std::int64_t extent : extents) kernel.space.push_back(NewIndex(extent));
  kernel.axes = {0, 1, 2, 5};
  operand_dims = {{3, 5}, {5, 4}};
  return std::nullopt;
}

std::vector<int> BlockDims(const Kernel&) { return {0, 1, 2}; }

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  if (kernel.lets.size() != 1)
    return fmt::format("scaled_matmul has one let, the scale of a block, and here are {}: write 'let scale = a * b'",
                       kernel.lets.size());
  bool sees_product = false, reads_scale = false;
  Visit(kernel.lets[0].body, [&](const ExprNode& node) { sees_product |= node.kind == Expr::Kind::kValue; });
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    reads_scale |= node.kind == Expr::Kind::kValue && node.value.kind == NamedValue::Kind::kLet;
  });
  if (sees_product) return "a block's scale is known before the products: there is no 'it' in it";
  if (reads_scale)
    return fmt::format("'{}' is a block's scale: behind the sum there is none any more", kernel.lets[0].name);
  if (kernel.lets[0].body->type != ScalarType::kReal) return "a scale is a real: write real(x) around whole numbers";
  if (auto why = CheckOperandsOfProducts(kernel)) return why;
  return CheckTargetOfProducts(program, kernel);
}

double Flops(const Kernel& kernel) {
  return 2 * AddedProducts(kernel) +
         static_cast<double>(ElementCount(kernel.result)) * OperationsPerElement(kernel.epilogue);
}

}  // namespace

HONE_ROW(Family){
    .name = "scaled_matmul",
    .doc = "The product of A [M, K] and B [K, N], each term times the scale of its block of rows, of columns and of K.",
    .grammar = "scaled_matmul(EXPR, EXPR) by {block} let scale = EXPR -> EXPR",
    .operands = 2,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "precision",
    .attributes = kAttributes,
    .shape = ShapeRule,
    .let_dims = BlockDims,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_scaled_matmul
