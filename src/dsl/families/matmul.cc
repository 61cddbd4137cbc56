// matmul(A, B): products of the matrices in the last two dimensions, the others are batches. matmul(A, B, which): of B
// [G, K, N] each batch has the matrix of its number.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_matmul {
namespace {

// The space is [batches.., G, M, N, K]: G next to M, so that no batches become rows.
std::optional<std::string> SpaceOfChosen(Kernel& kernel, const std::vector<Shape>& shapes,
                                         std::vector<std::vector<int>>& operand_dims) {
  const Shape &a = shapes[0], &b = shapes[1], &which = shapes[2];
  const std::string all =
      fmt::format("matmul of {}, {} and {}", hone::ToString(a), hone::ToString(b), hone::ToString(which));
  if (a.size() < 2 || b.size() != 3 || b[0] < 1)
    return all + ": wants A [.., M, K], B [G, K, N] and the number of a matrix of B for each batch, [..]";
  const std::size_t batches = std::max(a.size() - 2, which.size());
  if (batches == 0) return all + ": there must be a batch at least, if of one; take views with a dimension more";
  if (a.back() != b[1])
    return fmt::format("{}: A's columns ({}) must be as many as B's rows ({})", all, a.back(), b[1]);
  operand_dims.assign(3, {});
  for (std::size_t d = 0; d < batches; ++d) {
    const auto extent = [&](const Shape& shape, std::size_t rank) {
      return d + rank < batches ? 1 : shape[d + rank - batches];
    };
    const std::int64_t of_a = extent(a, a.size() - 2), of_which = extent(which, which.size());
    if (of_a != of_which && of_a != 1 && of_which != 1) return all + ": the batches do not broadcast";
    kernel.space.push_back(NewIndex(of_a == 1 ? of_which : of_a));
    operand_dims[0].push_back(static_cast<int>(d));
    operand_dims[2].push_back(static_cast<int>(d));
  }
  for (const auto extent : {b[0], a[a.size() - 2], b[2], a.back()}) kernel.space.push_back(NewIndex(extent));
  const int g = static_cast<int>(batches);
  kernel.axes = {g, g + 3};
  operand_dims[0].insert(operand_dims[0].end(), {g + 1, g + 3});
  operand_dims[1] = {g, g + 3, g + 2};
  return std::nullopt;
}

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  if (auto why = FillAttribute(kernel.attributes, "heads", 1, 0, 0)) return why;
  if (shapes.size() == 3) {
    if (kernel.attributes["heads"][0] > 0) return "'heads' side by side have matrices of their own: none is chosen";
    return SpaceOfChosen(kernel, shapes, operand_dims);
  }
  if (auto why = SpaceOfProducts("matmul", kernel, shapes, operand_dims)) return why;
  const std::size_t batches = kernel.space.size() - 3;
  if (kernel.attributes["heads"][0] > static_cast<std::int64_t>(batches))
    return fmt::format("matmul of {} and {}: 'heads' {} are more than its batch dimensions; try {}",
                       hone::ToString(shapes[0]), hone::ToString(shapes[1]), kernel.attributes["heads"][0], batches);
  return std::nullopt;
}

// Batches, row, heads, column.
std::vector<int> ResultOrder(const Kernel& kernel) {
  const int m = static_cast<int>(kernel.space.size()) - 3;
  const int heads = static_cast<int>(kernel.attributes.at("heads")[0]);
  std::vector<int> dims;
  for (int d = 0; d < m - heads - (HasChoice(kernel) ? 1 : 0); ++d) dims.push_back(d);
  dims.push_back(m);
  for (int d = m - heads; d < m; ++d) dims.push_back(d);
  dims.push_back(m + 1);
  return dims;
}

bool MultipliesWholes(const Kernel& kernel) {
  return kernel.inputs[0]->type == ScalarType::kInt && kernel.inputs[1]->type == ScalarType::kInt;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  if (HasChoice(kernel) && kernel.inputs[2]->type != ScalarType::kInt)
    return "which matrix a batch has is a whole number";
  if (auto why = CheckRotation(kernel)) return why;
  if (MultipliesWholes(kernel)) {
    if (!kernel.lets.empty()) return "whole numbers are multiplied one product at a time: make a statement of each";
    return kernel.epilogue->type == ScalarType::kReal ? CheckTargetOfProducts(program, kernel) : std::nullopt;
  }
  if (auto why = CheckOperandsOfProducts(kernel)) return why;
  return CheckTargetOfProducts(program, kernel);
}

double Flops(const Kernel& kernel) {
  double results = 1;
  for (const auto extent : kernel.result) results *= static_cast<double>(extent);
  return 2 * AddedProducts(kernel) * static_cast<double>(ProductsOf(kernel)) +
         results * OperationsPerElement(kernel.epilogue);
}

constexpr Attribute kAttributes[] = {
    {"heads",
     "the last so many batch dimensions lie side by side in a row of the result: [.., M, heads.., N]; 0 if "
     "absent"},
};

}  // namespace

HONE_ROW(Family){
    .name = "matmul",
    .doc = "The matrix product of A [.., M, K] and B [.., K, N]; batches broadcast, a transpose is a view.",
    .grammar = "matmul(EXPR, EXPR [, EXPR]) by {heads} let NAME = product(EXPR) ... -> EXPR",
    .variants = {},
    .operands = 2,
    .further_operands = 1,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "precision",
    .attributes = kAttributes,
    .shape = ShapeRule,
    .result_dims = ResultOrder,
    .let_dims = DimsOfRight,
    .let_function = "product",
    .rotation = "rotated",
    .check = Check,
    .type = [](const Kernel& kernel) { return MultipliesWholes(kernel) ? ScalarType::kInt : ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_matmul
