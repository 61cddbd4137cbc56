// Each row goes by those that may be among its first elements: twice as many as are wanted, which are then put in
// order, and what comes behind the last one that is wanted is left out from there on.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dsl/cpu/expr_writer.h"
#include "dsl/cpu/index_text.h"
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
    constexpr std::int64_t kSome = 16;
    const std::int64_t room = std::min(row, 2 * wanted) + kSome;
    const std::string type = writer_.TypeName(Body()->type);
    const bool narrow = type == "float" && row <= std::int64_t{1} << 32;  // a place is 32 bits of the key
    const std::string key = narrow ? "unsigned long" : "unsigned __int128";
    const std::string selection =
        fmt::format("{}<{}, {}, {}>", writer_.Helper("FirstInOrder"), type, key, order_.descending ? "true" : "false");
    const std::string keys = writer_.Scratch("keys", key, 2 * order_.rows * room);
    std::map<int, std::string> names;
    std::string number;
    if (order_.others.empty() && writer_.parallel()) writer_.Line("(void)threads;");
    if (!order_.others.empty()) writer_.ParallelFor(static_cast<int>(order_.others.size()));
    for (const auto& other : order_.others) {
      const std::string name = names[other.id] = writer_.Fresh("i");
      writer_.Open(For(name, other.extent));
      number = number.empty() ? name : fmt::format("({} * {} + {})", number, other.extent, name);
    }
    const std::string mine = number.empty() ? keys : fmt::format("{} + {} * {}", keys, number, 2 * room);
    const std::string first = writer_.Fresh("first"), k = writer_.Fresh("k"), j = writer_.Fresh("j");
    writer_.Line(fmt::format("{0} {1}{{{2}, {2} + {3}, {4}, {3}}};", selection, first, mine, room, wanted));
    const std::string from = writer_.Fresh("from"), some = writer_.Fresh("some"), n = writer_.Fresh("n");
    writer_.Open(fmt::format("for (long {0} = 0; {0} < {1}; {0} += {2})", from, row, kSome));
    writer_.Line(Left("size", row, from, kSome));
    writer_.Line(fmt::format("{} {}[{}];", key, some, kSome));
    writer_.Line("#pragma omp simd");
    writer_.Open(fmt::format("for (long {0} = 0; {0} < size; ++{0})", n));
    writer_.Line(fmt::format("const long {} = {} + {};", k, from, n));
    names[order_.along.id] = k;
    writer_.Line(fmt::format("{}[{}] = {}.KeyOf({}, {});", some, n, first, Text(Body(), names, ""), k));
    writer_.Close();
    writer_.Line(fmt::format("{}.Take({}, size);", first, some));
    writer_.Close();
    writer_.Line(fmt::format("{}.Sort();", first));
    writer_.Open(For(j, wanted));
    const std::string place = writer_.Fresh("place");
    writer_.Line(fmt::format("const long {} = {}.Place({});", place, first, j));
    names[order_.along.id] = place;
    std::string element;
    if (!kernel_.also.empty()) {
      element = writer_.Fresh("element");
      writer_.Line(fmt::format("const {} {} = {};", type, element, Text(Body(), names, "")));
    }
    names.erase(order_.along.id);
    names[order_.place.id] = j;
    std::vector<std::string> target = Ordering::Texts(kernel_, names);
    target.pop_back();
    const std::string address = DenseAddress(kernel_, target);
    writer_.Line(fmt::format("{}[{}] = {};", writer_.TargetName(), address, Text(kernel_.epilogue, names, place)));
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

// A nanosecond an element that is looked at, twenty one that is wanted.
std::vector<Setting> OrderThreads(const Kernel& kernel) {
  constexpr double kLook = 60, kWanted = 1200;  // like so many operations
  const Ordering order(kernel);
  return ThreadsFor(kernel, static_cast<double>(order.rows) * (kLook * static_cast<double>(order.along.extent) +
                                                               kWanted * static_cast<double>(order.place.extent)));
}

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
