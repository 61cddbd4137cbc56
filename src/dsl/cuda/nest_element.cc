#include "dsl/cuda/nest_element.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "dsl/cuda/expr.h"

namespace hone::dsl {
std::string ElementText(DeviceWriter& out, DeviceExpr& expr, const Kernel& kernel, const ExprNode& load) {
  const int buffer = kernel.operands[static_cast<std::size_t>(load.buffer)].buffer;
  const LinearForm form = LinearOf(load.operands[0]);
  std::string text;
  const auto add = [&](const std::string& term, std::int64_t times) {
    text += text.empty() ? (times < 0 ? "-" : "") : times < 0 ? " - " : " + ";
    text += std::abs(times) == 1 ? term : fmt::format("{} * {}", term, std::abs(times));
  };
  // The largest steps first, as one writes addresses.
  std::vector<std::pair<int, std::int64_t>> terms(form.sum.coefficient.begin(), form.sum.coefficient.end());
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.second) > std::abs(b.second); });
  for (const auto& [index, times] : terms) add(expr.NameOf(index), times);
  for (const auto& [rest, times] : form.rest) add("(" + expr.Address(rest) + ")", times);
  if (form.sum.constant != 0 || text.empty())
    text += text.empty() ? fmt::format("{}", form.sum.constant)
                         : fmt::format(" {} {}", form.sum.constant < 0 ? "-" : "+", std::abs(form.sum.constant));
  return LoadedText(out, buffer, fmt::format("{}[{}]", out.BufferName(buffer), text));
}

void NamePlaces(DeviceWriter& out, const Kernel& kernel, const std::vector<IndexVar>& indices, const std::string& at,
                std::map<int, std::string>& names) {
  std::string left = at;
  for (std::size_t n = indices.size(); n-- > 0;) {
    const IndexVar& index = indices[n];
    const auto named = kernel.index_names.find(index.id);
    const std::string name = out.Fresh(named == kernel.index_names.end() ? "i" : Spelled(named->second));
    out.Line(fmt::format("const {} {} = {};", out.index_type(), name,
                         n == 0 ? left : fmt::format("{} % {}", left, index.extent)));
    names[index.id] = name;
    if (n > 0) left = fmt::format("({} / {})", left, index.extent);
  }
}

void WriteElement(DeviceWriter& out, const Kernel& kernel, const FlatElement& element,
                  const std::map<int, std::string>& names, const std::string& lane, const std::string& made) {
  const KernelBuffer& target = out.program().buffers[static_cast<std::size_t>(kernel.target)];
  DeviceExpr* self = nullptr;
  DeviceExpr expr(out, [&](const ExprNode& load) {
    return load.kind == Expr::Kind::kValue ? made : ElementText(out, *self, kernel, load);
  });
  self = &expr;
  for (const auto& [id, name] : names) expr.Call({id, 1}, name);
  expr.ShareSums(lane);
  const std::string value = DeviceExpr::Stored(expr.Text(element.value), element.value->type, target.dtype);
  // The target is dense over the space; merged indices stand for the dimensions that they swallowed.
  std::string at;
  std::int64_t step = 1;
  for (std::size_t d = kernel.space.size(); d-- > 0;) {
    const auto it = names.find(kernel.space[d].id);
    if (it != names.end())
      at = (step == 1 ? it->second : fmt::format("{} * {}", it->second, step)) + (at.empty() ? "" : " + " + at);
    step *= kernel.space[d].extent;
  }
  out.Line(fmt::format("{}{}[{}] = {};", lane.empty() ? "" : fmt::format("if ({} == 0) ", lane),
                       out.BufferName(kernel.target), at.empty() ? "0" : at, value));
}

}  // namespace hone::dsl
