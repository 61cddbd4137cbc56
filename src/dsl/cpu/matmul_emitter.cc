#include "dsl/cpu/matmul_emitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"

namespace hone::dsl {

std::vector<Setting> MatmulThreads(const Kernel& kernel) {
  const bool small = AddedProducts(kernel) < 300e3;  // ten microseconds of one core
  std::vector<Setting> values =
      small ? std::vector<Setting>{Whole(1), Whole(0)} : std::vector<Setting>{Whole(0), Whole(1)};
  if (kernel.device->threads >= 4) values.push_back(Whole(kernel.device->threads / 2));
  return values;
}

std::string MatmulEmitter::Element(int operand, const std::vector<std::string>& index) const {
  const auto o = static_cast<std::size_t>(operand);
  return ElementText(program_, kernel_, writer_, operand, index, shape_.strides[o], kernel_.operands[o].offset);
}

std::string MatmulEmitter::Text(const Expr& expr, const std::vector<std::string>& index, const std::string& it) {
  ExprWriter text(writer_, [&](const ExprNode& load) {
    return load.kind == Expr::Kind::kValue ? it : Element(load.buffer, index);
  });
  return text.Text(expr);
}

std::string MatmulEmitter::Target(const std::string& i, const std::string& j) const {
  return fmt::format("{}[{}]", writer_.TargetName(), Address(shape_.Index(i, j, "0"), shape_.target, 0));
}

void MatmulEmitter::OpenBatches() {
  for (const auto& dim : shape_.batch) {
    if (!IsChosen(dim)) writer_.Open(For(dim.var, dim.extent));
  }
  for (const auto& dim : shape_.batch) {
    if (IsChosen(dim))
      writer_.Line(fmt::format("const long {} = {};", dim.var, Text(kernel_.inputs[2], shape_.Index("0", "0", "0"))));
  }
}

void MatmulEmitter::CloseBatches() {
  for (int i = 0; i < BatchLoops(); ++i) writer_.Close();
}

int MatmulEmitter::BatchLoops() const {
  return static_cast<int>(std::ranges::count_if(shape_.batch, [&](const LoopDim& dim) { return !IsChosen(dim); }));
}

}  // namespace hone::dsl
