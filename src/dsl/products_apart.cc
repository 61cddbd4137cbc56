#include "dsl/products_apart.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dsl/family.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {
namespace {

bool StaysTogether(const Kernel& kernel) {
  return kernel.settings.contains("products") && WordSetting(kernel, "products") == "together";
}

class Cutter {
 public:
  explicit Cutter(KernelProgram program) : program_(std::move(program)) {}

  KernelProgram Run() {
    std::vector<Kernel> kernels;
    for (Kernel& kernel : program_.kernels) {
      if (kernel.family->let_function == "product" && !kernel.lets.empty() && !StaysTogether(kernel))
        Cut(kernel, kernels);
      kernels.push_back(std::move(kernel));
    }
    program_.kernels = std::move(kernels);
    return std::move(program_);
  }

 private:
  // Each let becomes a kernel in front, and an operand of the last one's end.
  void Cut(Kernel& kernel, std::vector<Kernel>& kernels) {
    const std::vector<int> dims = ResultDims(kernel);
    std::vector<Expr> made;
    for (const auto& let : kernel.lets) {
      Kernel product = kernel;
      product.inputs[1] = let.body;
      product.lets.clear();
      product.epilogue = Value(kIt, ScalarType::kReal);
      product.target = NewValue(kernel);
      product.target_type = kernel.compute;
      KernelOperand operand{.buffer = product.target, .strides = std::vector<std::int64_t>(kernel.space.size(), 0)};
      const std::vector<std::int64_t> strides = DenseStrides(kernel.result);
      for (std::size_t d = 0; d < dims.size(); ++d) operand.strides[static_cast<std::size_t>(dims[d])] = strides[d];
      made.push_back(Load(static_cast<int>(kernel.operands.size()),
                          std::vector<Expr>(kernel.space.begin(), kernel.space.end()), ScalarType::kReal));
      kernel.operands.push_back(std::move(operand));
      kernel.operand_types.push_back(kernel.compute);
      kernel.operand_is_parameter.push_back(false);
      kernels.push_back(std::move(product));
    }
    kernel.epilogue = ReplaceValues(kernel.epilogue, [&](const ExprNode& value) -> Expr {
      return value.value == kIt ? Expr() : made[static_cast<std::size_t>(value.value.number)];
    });
    kernel.lets.clear();
  }

  int NewValue(const Kernel& kernel) {
    const std::string base = program_.buffers[static_cast<std::size_t>(kernel.target)].name + "_product";
    std::string name = base;
    int position = 0;
    const auto taken = [&](const KernelBuffer& buffer) { return buffer.name == name; };
    for (int n = 2; std::any_of(program_.buffers.begin(), program_.buffers.end(), taken); ++n)
      name = fmt::format("{}_{}", base, n);
    for (const auto& buffer : program_.buffers) position += buffer.home == KernelBuffer::Home::kIntermediate ? 1 : 0;
    program_.buffers.push_back({.name = std::move(name),
                                .dtype = kernel.compute,
                                .shape = kernel.result,
                                .home = KernelBuffer::Home::kIntermediate,
                                .position = position});
    return static_cast<int>(program_.buffers.size()) - 1;
  }

  KernelProgram program_;
};

}  // namespace

KernelProgram ProductsApart(const KernelProgram& program) { return Cutter(program).Run(); }

}  // namespace hone::dsl
