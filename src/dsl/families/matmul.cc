// matmul(A, B): products of the matrices in the last two dimensions, the others are batches.
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl::family_matmul {
namespace {

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  return SpaceOfProducts("matmul", kernel, shapes, operand_dims);
}

bool MultipliesWholes(const Kernel& kernel) {
  return kernel.inputs[0]->type == ScalarType::kInt && kernel.inputs[1]->type == ScalarType::kInt;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
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

}  // namespace

HONE_ROW(Family){
    .name = "matmul",
    .doc = "The matrix product of A [.., M, K] and B [.., K, N]; batches broadcast, a transpose is a view.",
    .grammar = "matmul(EXPR, EXPR) let NAME = product(EXPR) ... -> EXPR",
    .variants = {},
    .operands = 2,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "precision",
    .shape = ShapeRule,
    .let_dims = DimsOfRight,
    .let_function = "product",
    .check = Check,
    .type = [](const Kernel& kernel) { return MultipliesWholes(kernel) ? ScalarType::kInt : ScalarType::kReal; },
    .multiplies = true,
    .flops = Flops,
};

}  // namespace hone::dsl::family_matmul
