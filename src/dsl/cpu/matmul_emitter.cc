#include "dsl/cpu/matmul_emitter.h"

#include <fmt/format.h>

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
  for (const auto& dim : shape_.batch) writer_.Open(For(dim.var, dim.extent));
}

void MatmulEmitter::CloseBatches() {
  for (std::size_t i = 0; i < shape_.batch.size(); ++i) writer_.Close();
}

}  // namespace hone::dsl
