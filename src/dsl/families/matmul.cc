// matmul(A, B): products of the matrices in the last two dimensions, the others are batches.
#include <fmt/format.h>

#include <algorithm>

#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

std::optional<std::string> ShapeRule(Kernel& kernel, const std::vector<Shape>& shapes,
                                     std::vector<std::vector<int>>& operand_dims) {
  return SpaceOfProducts("matmul", kernel, shapes, operand_dims);
}

// Of a let, which is another B.
std::vector<int> RightDims(const Kernel& kernel) {
  std::vector<int> dims = AllDims(kernel);
  dims.erase(dims.end() - 3);
  std::swap(dims[dims.size() - 2], dims.back());
  return dims;
}

std::optional<std::string> Check(const KernelProgram& program, const Kernel& kernel) {
  for (std::size_t i = 0; i < 1 + ProductsOf(kernel); ++i) {
    const Expr& input = InputOf(kernel, i);
    if (input->type != ScalarType::kReal) return "matmul multiplies reals: write real(x) around whole numbers";
    bool sees = false;
    Visit(input, [&](const ExprNode& node) { sees |= node.kind == Expr::Kind::kValue; });
    if (sees) return "a let is known behind all products only: what multiplies cannot read it";
  }
  return CheckTargetOfProducts(program, kernel);
}

double Flops(const Kernel& kernel) {
  double results = 1;
  for (const auto extent : kernel.result) results *= static_cast<double>(extent);
  return 2 * SpaceCount(kernel) * static_cast<double>(ProductsOf(kernel)) +
         results * OperationsPerElement(kernel.epilogue);
}

}  // namespace

HONE_FAMILY(matmul){
    .name = "matmul",
    .doc = "The matrix product of A [.., M, K] and B [.., K, N]; batches broadcast, a transpose is a view.",
    .grammar = "matmul(EXPR, EXPR) let NAME = product(EXPR) ... -> EXPR",
    .variants = {},
    .operands = 2,
    .takes_lets = true,
    .cpu_choice = "path",
    .cuda_choice = "precision",
    .shape = ShapeRule,
    .let_dims = RightDims,
    .let_function = "product",
    .check = Check,
    .type = [](const Kernel&) { return ScalarType::kReal; },
    .flops = Flops,
};

}  // namespace hone::dsl
