#include "dsl/cuda/order.h"

#include <fmt/format.h>

#include "dsl/cuda/expr.h"
#include "dsl/shape/loops.h"

namespace hone::dsl {
namespace {

std::string TextOf(DeviceWriter& out, const Kernel& kernel, const Expr& value, const std::map<int, std::string>& names,
                   const std::string& it) {
  DeviceExpr expr(out, [&](const ExprNode& load) {
    if (load.kind == Expr::Kind::kValue) return it;
    const KernelOperand& operand = kernel.operands[static_cast<std::size_t>(load.buffer)];
    return LoadedText(out, operand.buffer,
                      fmt::format("{}[{}]", out.BufferName(operand.buffer),
                                  Address(Ordering::Texts(kernel, names), operand.strides, operand.offset)));
  });
  return expr.Text(value);
}

}  // namespace

std::string OrderedText(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names) {
  const Expr& value = kernel.inputs[0];
  const std::string text = TextOf(out, kernel, value, names, "");
  return fmt::format("{}({})", out.Type(value->type), text);
}

void WriteOrdered(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names,
                  const std::string& index) {
  const std::string value =
      DeviceExpr::Stored(TextOf(out, kernel, kernel.epilogue, names, index), kernel.epilogue->type, kernel.target_type);
  std::vector<std::string> target = Ordering::Texts(kernel, names);
  target.pop_back();
  out.Line(fmt::format("{}[{}] = {};", out.TargetName(), DenseAddress(kernel, target), value));
}

}  // namespace hone::dsl
