// matmul(A, B): products of the matrices in the last two dimensions, the others are batches.
#include <fmt/format.h>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/shape/window.h"

namespace hone::dsl::family_matmul {
namespace {

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  if (auto why = SpaceOfProducts("matmul", kernel, shapes, operand_dims)) return why;
  if (auto why = FillAttribute(kernel.attributes, "heads", 1, 0, 0)) return why;
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
  for (int d = 0; d < m - heads; ++d) dims.push_back(d);
  dims.push_back(m);
  for (int d = m - heads; d < m; ++d) dims.push_back(d);
  dims.push_back(m + 1);
  return dims;
}

bool MultipliesWholes(const Kernel& kernel) {
  return kernel.inputs[0]->type == ScalarType::kInt && kernel.inputs[1]->type == ScalarType::kInt;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
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
  return 2 * SpaceCount(kernel) * static_cast<double>(ProductsOf(kernel)) +
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
    .grammar = "matmul(EXPR, EXPR) by {heads} let NAME = product(EXPR) ... -> EXPR",
    .variants = {},
    .operands = 2,
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
