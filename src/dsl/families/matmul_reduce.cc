// matmul_reduce max(A, B): each row of a matrix product folded over its columns; the product is never in memory.
// argmax and argmin say which column it is, and what its score is (also). With `group`, so many neighbouring columns
// are folded to a value of their own.
#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/reduction.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_matmul_reduce {
namespace {

constexpr Attribute kAttributes[] = {
    {"group", "of sum, max and min: so many neighbouring columns are folded to one value, of which a row has several"},
};
constexpr std::string_view kVariants[] = {"sum", "max", "min", "argmax", "argmin", "logsumexp"};

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  if (auto why = SpaceOfProducts("matmul_reduce", kernel, shapes, operand_dims)) return why;
  if (auto group = kernel.attributes.find("group"); group != kernel.attributes.end()) {
    if (auto why = FillAttribute(kernel.attributes, "group", 1, 1, 1)) return why;
    const std::int64_t columns = kernel.space[kernel.space.size() - 2].extent, each = group->second[0];
    kernel.space.insert(kernel.space.begin(), NewIndex((columns + each - 1) / each));
    for (auto& dims : operand_dims) {
      for (int& d : dims) ++d;
    }
  }
  const int rank = static_cast<int>(kernel.space.size());
  kernel.axes = {rank - 2, rank - 1};
  return std::nullopt;
}

// Batches and rows, then the groups of each. What is multiplied may have been turned, so that columns come before rows.
std::vector<int> DimsOfResult(const Kernel& kernel) {
  std::vector<int> dims;
  const bool groups = ColumnsOfGroup(kernel) > 0;
  for (int d = groups ? 1 : 0; d + 1 < static_cast<int>(kernel.space.size()); ++d) {
    if (d != kernel.axes[0]) dims.push_back(d);
  }
  if (groups) dims.push_back(0);
  return dims;
}

// A score's place: batches, row, column.
std::vector<int> ScoreDims(const Kernel& kernel) {
  std::vector<int> dims = AllDims(kernel);
  dims.pop_back();
  if (ColumnsOfGroup(kernel) > 0) dims.erase(dims.begin());
  return dims;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  for (const auto& input : kernel.inputs) {
    if (input->type != ScalarType::kReal) return "matmul_reduce multiplies reals: write real(x) around whole numbers";
  }
  if (auto why = CheckScore(kernel, "fold")) return why;
  if (ColumnsOfGroup(kernel) > 0) {
    if (FindsPlace(kernel) || kernel.variant == "logsumexp")
      return fmt::format("{} is of whole rows: groups are folded by sum, max and min; remove 'group'", kernel.variant);
    for (const auto& operand : kernel.operands) {
      if (operand.strides[0] != 0)
        return "the chain of folded groups reads what is the same for all of a row; write another map";
    }
  }
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
  const double groups = ColumnsOfGroup(kernel) > 0 ? static_cast<double>(kernel.space[0].extent) : 1;
  const double scores = depth == 0 || groups == 0 ? 0 : SpaceCount(kernel) / depth / groups;
  const double of_score = kernel.lets.empty() ? 0 : OperationsPerElement(kernel.lets[0].body);
  return scores * (2 * depth + of_score + (kernel.variant == "logsumexp" ? 4 : 1));
}

}  // namespace

HONE_ROW(Family){
    .name = "matmul_reduce",
    .doc = "The product of A [.., M, K] and B [.., K, N], each row of it folded to one value; batches broadcast.",
    .grammar =
        "matmul_reduce sum|max|min|argmax|argmin|logsumexp(EXPR, EXPR) by {group} let score = EXPR -> EXPR also NAME = "
        "EXPR",
    .variants = kVariants,
    .operands = 2,
    .takes_lets = true,
    .takes_also = true,
    .cpu_choice = "path",
    .cuda_choice = "path",
    .attributes = kAttributes,
    .shape = ShapeRule,
    .result_dims = DimsOfResult,
    .let_dims = ScoreDims,
    .check = Check,
    .type = [](const Kernel& kernel) { return FindsPlace(kernel) ? ScalarType::kInt : ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_matmul_reduce
