#include "dsl/cuda/order.h"

#include <fmt/format.h>

#include "dsl/cuda/expr.h"
#include "dsl/cuda/nest_element.h"
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
                  const std::string& index, const std::string& element) {
  std::vector<std::string> target = Ordering::Texts(kernel, names);
  target.pop_back();
  const std::string address = DenseAddress(kernel, target);
  const auto store = [&](int buffer, const Expr& value, DType type, const std::string& it) {
    const std::string text = DeviceExpr::Stored(TextOf(out, kernel, value, names, it), value->type, type);
    out.Line(fmt::format("{}[{}] = {};", out.BufferName(buffer), address, text));
  };
  store(kernel.target, kernel.epilogue, kernel.target_type, index);
  if (kernel.also.empty()) return;
  std::string it = element;
  if (it.empty()) {
    std::map<int, std::string> there = names;
    there[Ordering(kernel).along.id] = out.Fresh("there");
    out.Line(fmt::format("const {} {} = {};", out.index_type(), there[Ordering(kernel).along.id], index));
    it = OrderedText(out, kernel, there);
  }
  for (const auto& one : kernel.also) store(one.target, one.value, one.target_type, it);
}

bool HasWideKey(const Kernel& kernel) {
  const Expr& value = kernel.inputs[0];
  if (value->type == ScalarType::kReal) return kernel.compute == DType::kF64;
  if (value->type == ScalarType::kBool) return false;
  if (value->kind != Expr::Kind::kLoad) return true;
  return Bytes(kernel.operand_types[static_cast<std::size_t>(value->buffer)]) > 4;
}

std::string KeyText(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names) {
  const std::string value = OrderedText(out, kernel, names);
  const bool narrow = kernel.inputs[0]->type == ScalarType::kInt && !HasWideKey(kernel);
  return fmt::format("{}KeyOf({})", Ordering(kernel).descending ? "~" : "",
                     narrow ? fmt::format("static_cast<int>({})", value) : value);
}

std::string ElementOfKey(DeviceWriter& out, const Kernel& kernel, const std::map<int, std::string>& names,
                         const std::string& key, const std::string& place) {
  if (kernel.also.empty()) return "";
  const Ordering order(kernel);
  const std::string element = out.Fresh("element"), at = out.Fresh("there");
  out.Line(fmt::format("{} {};", out.Type(kernel.inputs[0]->type), element));
  out.Open(fmt::format("if (!IsKeyOf({}{}, {}))", order.descending ? "~" : "", key, element));
  out.Line(fmt::format("const {} {} = {};", out.index_type(), at, place));
  std::map<int, std::string> there = names;
  there[order.along.id] = at;
  out.Line(fmt::format("{} = {};", element, OrderedText(out, kernel, there)));
  out.Close();
  return element;
}

void WriteSorted(DeviceWriter& out, const Kernel& kernel, std::map<int, std::string> names, const std::string& mine,
                 std::int64_t threads, const std::optional<SortedPiece>& piece) {
  const Ordering order(kernel);
  out.Open(fmt::format("for (int j = {}; j < {}; j += {})", mine,
                       piece ? piece->count : std::to_string(order.place.extent), threads));
  names[order.place.id] = piece ? fmt::format("({} + j)", piece->before) : "j";
  const std::string element = ElementOfKey(out, kernel, names, "found[OfSorted(j)]", "found_at[OfSorted(j)]");
  WriteOrdered(out, kernel, names, "static_cast<long>(found_at[OfSorted(j)])", element);
  out.Close();
}

std::vector<int> ReadsOfOrdered(const Kernel& kernel, bool has_element) {
  std::vector<Expr> read = {kernel.epilogue};
  for (const auto& one : kernel.also) read.push_back(one.value);
  if (!kernel.also.empty() && !has_element) read.push_back(kernel.inputs[0]);
  std::vector<int> buffers;
  for (const Expr& expr : read) {
    const std::vector<int> more = BuffersOf(kernel, expr);
    buffers.insert(buffers.end(), more.begin(), more.end());
  }
  return buffers;
}

}  // namespace hone::dsl
