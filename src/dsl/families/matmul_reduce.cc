// matmul_reduce max(A, B): each row of a matrix product folded over its columns; the product is never in memory.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl::family_matmul_reduce {
namespace {

constexpr std::string_view kVariants[] = {"sum", "max", "min", "logsumexp"};

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  if (auto why = SpaceOfProducts("matmul_reduce", kernel, shapes, operand_dims)) return why;
  const int rank = static_cast<int>(kernel.space.size());
  kernel.axes = {rank - 2, rank - 1};
  return std::nullopt;
}

// A score's place: batches, row, column.
std::vector<int> ScoreDims(const Kernel& kernel) {
  std::vector<int> dims = AllDims(kernel);
  dims.pop_back();
  return dims;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  for (const auto& input : kernel.inputs) {
    if (input->type != ScalarType::kReal) return "matmul_reduce multiplies reals: write real(x) around whole numbers";
  }
  if (auto why = CheckScore(kernel, "fold")) return why;
  if (kernel.variant != "sum" && kernel.space[kernel.space.size() - 2].extent == 0)
    return "there is no largest of nothing: B has no columns";
  return CheckTargetOfProducts(program, kernel);
}

double Flops(const Kernel& kernel) {
  const double depth = static_cast<double>(kernel.space.back().extent);
  const double scores = depth == 0 ? 0 : SpaceCount(kernel) / depth;
  const double of_score = kernel.lets.empty() ? 0 : OperationsPerElement(kernel.lets[0].body);
  return scores * (2 * depth + of_score + (kernel.variant == "logsumexp" ? 4 : 1));
}

}  // namespace

HONE_ROW(Family){
    .name = "matmul_reduce",
    .doc = "The product of A [.., M, K] and B [.., K, N], each row of it folded to one value; batches broadcast.",
    .grammar = "matmul_reduce sum|max|min|logsumexp(EXPR, EXPR) let score = EXPR -> EXPR",
    .variants = kVariants,
    .operands = 2,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .shape = ShapeRule,
    .let_dims = ScoreDims,
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_matmul_reduce
