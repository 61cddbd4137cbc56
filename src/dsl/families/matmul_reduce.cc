// matmul_reduce max(A, B): each row of a matrix product folded over its columns; the product is never in memory.
// argmax and argmin say which column it is, and what its score is (also).
#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/reduction.h"

namespace hone::dsl::family_matmul_reduce {
namespace {

constexpr std::string_view kVariants[] = {"sum", "max", "min", "argmax", "argmin", "logsumexp"};

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
  if (!kernel.also.empty() && !FindsPlace(kernel))
    return fmt::format("only argmax and argmin have a second result, their score: what {} makes is 'it' in the chain",
                       kernel.variant);
  if (!FindsPlace(kernel)) return CheckTargetOfProducts(program, kernel);
  if (kernel.space[kernel.space.size() - 2].extent > std::numeric_limits<std::int32_t>::max())
    return fmt::format("{} counts columns in 32 bits, and B has more", kernel.variant);
  return std::nullopt;
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
    .grammar =
        "matmul_reduce sum|max|min|argmax|argmin|logsumexp(EXPR, EXPR) let score = EXPR -> EXPR also NAME = EXPR",
    .variants = kVariants,
    .operands = 2,
    .takes_lets = true,
    .takes_also = true,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .shape = ShapeRule,
    .let_dims = ScoreDims,
    .check = Check,
    .type = [](const Kernel& kernel) { return FindsPlace(kernel) ? ScalarType::kInt : ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_matmul_reduce
