// Each row goes by a heap of the first elements so far, whose root is the last of them; in the end the heap is emptied
// from its root.
#include <fmt/format.h>

#include <map>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/loop_text.h"
#include "dsl/knobs.h"
#include "dsl/shape/ordering.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_order {
namespace {

class OrderWriter {
 public:
  OrderWriter(const KernelProgram& program, const Kernel& kernel, Writer& writer)
      : program_(program), kernel_(kernel), writer_(writer), order_(kernel) {}

  void Write() {
    const std::int64_t wanted = order_.place.extent, row = order_.along.extent;
    const std::string type = writer_.TypeName(Body()->type);
    const std::string values = writer_.Scratch("values", type, order_.rows * wanted),
                      places = writer_.Scratch("places", "long", order_.rows * wanted);
    const std::string heap =
        fmt::format("{}<{}, {}>", writer_.Helper("FirstInOrder"), type, order_.descending ? "true" : "false");
    std::map<int, std::string> names;
    std::string number;
    if (order_.others.empty() && writer_.parallel()) writer_.Line("(void)threads;");
    if (!order_.others.empty()) writer_.ParallelFor(static_cast<int>(order_.others.size()));
    for (const auto& other : order_.others) {
      const std::string name = names[other.id] = writer_.Fresh("i");
      writer_.Open(For(name, other.extent));
      number = number.empty() ? name : fmt::format("({} * {} + {})", number, other.extent, name);
    }
    const std::string offset = number.empty() ? "" : fmt::format(" + {} * {}", number, wanted);
    const std::string first = writer_.Fresh("first"), k = writer_.Fresh("k"), j = writer_.Fresh("j");
    writer_.Line(fmt::format("{} {}{{{}{}, {}{}, {}}};", heap, first, values, offset, places, offset, wanted));
    writer_.Open(For(k, row));
    names[order_.along.id] = k;
    writer_.Line(fmt::format("{}.Take({}, {});", first, Text(Body(), names, ""), k));
    writer_.Close();
    writer_.Line(fmt::format("{}.Sort();", first));
    writer_.Open(For(j, wanted));
    names.erase(order_.along.id);
    names[order_.place.id] = j;
    std::vector<std::string> target = Ordering::Texts(kernel_, names);
    target.pop_back();
    const std::string address = DenseAddress(kernel_, target);
    writer_.Line(fmt::format("{}[{}] = {};", writer_.TargetName(), address,
                             Text(kernel_.epilogue, names, fmt::format("{}.places[{}]", first, j))));
    std::string element = fmt::format("{}.values[{}]", first, j);
    if (kernel_.inputs[0]->type == ScalarType::kBool) element = fmt::format("({} != 0)", element);
    for (const auto& one : kernel_.also)
      writer_.Line(
          fmt::format("{}[{}] = {};", writer_.BufferName(one.target), address, Text(one.value, names, element)));
    for (std::size_t n = 0; n < order_.others.size() + 1; ++n) writer_.Close();
  }

 private:
  Expr Body() const {
    const Expr& body = kernel_.inputs[0];
    return body->type == ScalarType::kBool ? Cast(body, ScalarType::kInt) : body;
  }

  std::string Text(const Expr& expr, const std::map<int, std::string>& names, const std::string& it) {
    ExprWriter text(writer_, [&](const ExprNode& load) {
      if (load.kind == Expr::Kind::kValue) return it;
      const KernelOperand& operand = kernel_.operands[static_cast<std::size_t>(load.buffer)];
      return ElementText(program_, kernel_, writer_, load.buffer, Ordering::Texts(kernel_, names), operand.strides,
                         operand.offset);
    });
    return text.Text(expr);
  }

  const KernelProgram& program_;
  const Kernel& kernel_;
  Writer& writer_;
  const Ordering order_;
};

std::vector<Setting> OrderThreads(const Kernel& kernel) { return ThreadsFor(kernel, kernel.family->flops(kernel)); }

constexpr Knob kKnobs[] = {
    {"threads", "how many threads share the work, 0 = all that the caller allows", OrderThreads, CheckThreads},
    kVectorKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "order",
    .knobs = kKnobs,
    .emit_cpu = [](const KernelProgram& program, const Kernel& kernel,
                   Writer& writer) { OrderWriter(program, kernel, writer).Write(); },
};

}  // namespace hone::dsl::cpu_way_order
