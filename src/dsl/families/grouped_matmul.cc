// grouped_matmul(A, B, ends): rows of A in groups, each group times a matrix of its own: a mixture of experts.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl::family_grouped_matmul {
namespace {

// The space is [G, M, N, K].
std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  const Shape &a = shapes[0], &b = shapes[1], &ends = shapes[2];
  const std::string all =
      fmt::format("grouped_matmul of {}, {} and {}", hone::ToString(a), hone::ToString(b), hone::ToString(ends));
  if (a.size() != 2 || b.size() != 3 || ends.size() != 1)
    return all + ": wants A [M, K], B [G, K, N] and one end a group, [G]";
  if (a[1] != b[1]) return fmt::format("{}: A's columns ({}) must be as many as B's rows ({})", all, a[1], b[1]);
  if (b[0] != ends[0])
    return fmt::format("{}: there must be as many matrices in B ({}) as there are ends ({})", all, b[0], ends[0]);
  if (b[0] < 1) return all + ": there must be a group at least";
  for (const auto extent : {b[0], a[0], b[2], a[1]}) kernel.space.push_back(NewIndex(extent));
  kernel.axes = {0, 3};
  operand_dims = {{1, 3}, {0, 3, 2}, {0}};
  return std::nullopt;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  if (kernel.inputs[2]->type != ScalarType::kInt) return "where groups end are whole numbers";
  if (auto why = CheckOperandsOfProducts(kernel)) return why;
  return CheckTargetOfProducts(program, kernel);
}

// Each row is of one group.
double Flops(const Kernel& kernel) {
  return 2 * AddedProducts(kernel) * static_cast<double>(ProductsOf(kernel)) +
         static_cast<double>(ElementCount(kernel.result)) * OperationsPerElement(kernel.epilogue);
}

}  // namespace

HONE_ROW(Family){
    .name = "grouped_matmul",
    .doc =
        "Each row of A [M, K] times the matrix of its group in B [G, K, N]; groups follow one another and end at "
        "`ends` "
        "[G].",
    .grammar = "grouped_matmul(EXPR, EXPR, EXPR) let NAME = product(EXPR) ... -> EXPR",
    .operands = 3,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .shape = ShapeRule,
    .let_dims = DimsOfRight,
    .let_function = "product",
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_grouped_matmul
