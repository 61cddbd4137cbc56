// What a kernel means, slowly and in double: for tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "base/check.h"
#include "dsl/family.h"
#include "dsl/kernel.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/testing/windows.h"
#include "expr/fold.h"
#include "problem/element.h"

namespace hone::dsl::testing {

class Interpreter {
 public:
  // One vector of values a buffer; intermediates and outputs are filled by Run.
  Interpreter(const KernelProgram& program, std::vector<std::vector<double>>& values)
      : program_(program), values_(values) {}

  void Run() {
    for (std::size_t k = 0; k < program_.kernels.size();) {
      const std::size_t end = SequenceEnd(program_, k);
      if (program_.kernels[k].attributes.contains("sequence"))
        RunSequence(k, end);
      else if (program_.kernels[k].family->takes_indices)
        RunNest(program_.kernels[k], -1, 0);
      else if (program_.kernels[k].family->name == "scan")
        RunScan(program_.kernels[k]);
      else
        RunKernel(program_.kernels[k]);
      k = end;
    }
  }

 private:
  using Index = std::map<int, std::int64_t>;  // by IndexVar id

  double Load(const Kernel& kernel, int operand, const Index& at) const {
    const KernelOperand& view = kernel.operands[static_cast<std::size_t>(operand)];
    std::int64_t address = view.offset;
    for (std::size_t d = 0; d < kernel.space.size(); ++d) {
      if (view.strides[d] != 0) address += view.strides[d] * at.at(kernel.space[d].id);
    }
    return Before(kernel, view.buffer)[static_cast<std::size_t>(address)];
  }

  // What a kernel reads of a buffer: of one that it writes into an input, that input.
  const std::vector<double>& Before(const Kernel& kernel, int buffer) const {
    const int updated = program_.buffers[static_cast<std::size_t>(buffer)].updates;
    const auto targets = TargetsOf(kernel);
    const bool own = updated >= 0 && std::find(targets.begin(), targets.end(), buffer) != targets.end();
    return values_[static_cast<std::size_t>(own ? updated : buffer)];
  }

  // As the target's memory holds it: truth values, and reals that are stored in fewer bits than they are computed in.
  double Held(const Kernel& kernel, double value) const { return HeldBy(kernel.target, value); }
  double HeldBy(int target, double value) const {
    const DType dtype = program_.buffers[static_cast<std::size_t>(target)].dtype;
    if (dtype == DType::kBool) return value != 0;
    if (!IsSmallFloat(dtype)) return value;
    return WithElement(dtype, [&](auto element) { return decltype(element)::From(value).Value(); });
  }

  void RunScan(const Kernel& kernel) {
    const auto says = [&](const char* name) {
      const auto it = kernel.attributes.find(name);
      return it != kernel.attributes.end() && it->second[0] != 0;
    };
    const ReduceOp op = kernel.variant == "prod"  ? ReduceOp::kProd
                        : kernel.variant == "max" ? ReduceOp::kMax
                        : kernel.variant == "min" ? ReduceOp::kMin
                                                  : ReduceOp::kSum;
    auto& target = values_[static_cast<std::size_t>(kernel.target)];
    target.assign(static_cast<std::size_t>(ElementCount(kernel.result)), 0.0);
    const IndexVar along = kernel.space[static_cast<std::size_t>(kernel.axes[0])];
    std::vector<int> others;
    for (int d = 0; d < static_cast<int>(kernel.space.size()); ++d) {
      if (d != kernel.axes[0]) others.push_back(d);
    }
    Index at;
    Each(kernel, others, at, [&] {
      double value = IdentityOf(op);
      for (std::int64_t i = 0; i < along.extent; ++i) {
        at[along.id] = says("reverse") ? along.extent - 1 - i : i;
        const double next = FoldStep(op, value, Evaluate(kernel, kernel.inputs[0], at, 0, {}));
        std::int64_t address = 0;
        for (const auto& index : kernel.space) address = address * index.extent + at[index.id];
        target[static_cast<std::size_t>(address)] =
            Held(kernel, Evaluate(kernel, kernel.epilogue, at, says("exclusive") ? value : next, {}));
        value = next;
      }
    });
  }

  // --- Nests.

  void RunSequence(std::size_t first, std::size_t end) {
    const auto number = [](const Kernel& kernel, const char* name) { return kernel.attributes.at(name)[0]; };
    const Kernel& leader = program_.kernels[first];
    const std::int64_t steps = leader.space[static_cast<std::size_t>(number(leader, "along"))].extent;
    for (std::int64_t s = 0; s < steps; ++s) {
      for (std::size_t k = first; k < end; ++k) {
        const Kernel& kernel = program_.kernels[k];
        RunNest(kernel, number(kernel, "along"), number(kernel, "reversed") ? steps - 1 - s : s);
      }
    }
  }

  // All elements, or those of one step.
  void RunNest(const Kernel& kernel, std::int64_t along, std::int64_t step) {
    auto& target = values_[static_cast<std::size_t>(kernel.target)];
    target.resize(static_cast<std::size_t>(ElementCount(kernel.result)), std::nan(""));
    std::vector<int> dims;
    Index at;
    for (int d = 0; d < static_cast<int>(kernel.space.size()); ++d) {
      if (d != along)
        dims.push_back(d);
      else
        at[kernel.space[static_cast<std::size_t>(d)].id] = step;
    }
    Each(kernel, dims, at, [&] {
      std::int64_t address = 0;
      for (const auto& index : kernel.space) address = address * index.extent + at[index.id];
      target[static_cast<std::size_t>(address)] = Held(kernel, Evaluate(kernel, kernel.epilogue, at, 0, {}));
    });
  }

  double NestElement(const Kernel& kernel, const Expr& load, const Index& at) const {
    const KernelOperand& view = kernel.operands[static_cast<std::size_t>(load->buffer)];
    std::int64_t address = view.offset;
    for (std::size_t d = 0; d < load->operands.size(); ++d) {
      const auto index = static_cast<std::int64_t>(Evaluate(kernel, load->operands[d], at, 0, {}));
      HONE_CHECK(0 <= index && index < view.extents[d], "a nest reads out of range");
      address += index * view.strides[d];
    }
    return Before(kernel, view.buffer)[static_cast<std::size_t>(address)];
  }

  double NestFold(const Kernel& kernel, const Expr& fold, const Index& outer) const {
    const ReduceOp op = fold->reduce;
    const bool max = op == ReduceOp::kArgMax, arg = max || op == ReduceOp::kArgMin;
    Index at = outer;
    double value = op == ReduceOp::kAll ? 1 : arg ? (max ? -INFINITY : INFINITY) : IdentityOf(op);
    std::int64_t place = 0, flat = 0;
    const std::function<void(std::size_t)> go = [&](std::size_t d) {
      if (d < fold->over.size()) {
        for (std::int64_t i = 0; i < fold->over[d].extent; ++i) {
          at[fold->over[d].id] = i;
          go(d + 1);
        }
        return;
      }
      const double x = Evaluate(kernel, fold->operands[0], at, 0, {});
      if (arg) {
        if ((max ? x > value : x < value) || (std::isnan(x) && !std::isnan(value))) {
          value = x;
          place = flat;
        }
      } else if (op == ReduceOp::kAny || op == ReduceOp::kAll) {
        value = op == ReduceOp::kAny ? value != 0 || x != 0 : value != 0 && x != 0;
      } else {
        value = FoldStep(op, value, x);
      }
      ++flat;
    };
    go(0);
    return arg ? static_cast<double>(place) : value;
  }

  double Evaluate(const Kernel& kernel, const Expr& e, const Index& at, double it,
                  const std::vector<double>& lets) const {
    const auto arg = [&](std::size_t i) { return Evaluate(kernel, e->operands[i], at, it, lets); };
    switch (e->kind) {
      case Expr::Kind::kConst: return NumberOf(*e);
      case Expr::Kind::kIndex: return static_cast<double>(at.at(e->index.id));
      case Expr::Kind::kReduce: return NestFold(kernel, e, at);
      case Expr::Kind::kLoad:
        if (kernel.family->takes_indices) return NestElement(kernel, e, at);
        return Load(kernel, e->buffer, at);
      // Of attention the one behind its values is the logarithm of the sum; of a product, which has no lets then, what
      // is rotated stands at its distance.
      case Expr::Kind::kValue: return e->value == kIt ? it : lets[static_cast<std::size_t>(e->value.number)];
      case Expr::Kind::kSelect: return arg(0) != 0 ? arg(1) : arg(2);
      case Expr::Kind::kCast: {
        const double x = arg(0);
        return e->type == ScalarType::kReal ? x : e->type == ScalarType::kInt ? std::trunc(x) : (x != 0);
      }
      case Expr::Kind::kUnary: return Unary(e, arg(0));
      case Expr::Kind::kBinary: return Binary(e, arg(0), arg(1));
    }
    return 0;
  }

  static double Unary(const Expr& e, double x) {
    if (e->unary == UnaryOp::kNot && e->type == ScalarType::kInt)
      return static_cast<double>(~static_cast<std::int64_t>(x));
    return ValueOf(e->unary, x);
  }

  static double Binary(const Expr& e, double a, double b) {
    const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
    switch (e->binary) {  // of whole numbers they work on bits
      case BinaryOp::kAnd: return static_cast<double>(whole(a) & whole(b));
      case BinaryOp::kOr: return static_cast<double>(whole(a) | whole(b));
      case BinaryOp::kXor: return static_cast<double>(whole(a) ^ whole(b));
      default: return ValueOf(e->binary, a, b);
    }
  }

  // Calls `visit` for every point of the given dimensions, last one fastest; the others keep their place in `at`.
  static void Each(const Kernel& kernel, const std::vector<int>& dims, Index& at, const std::function<void()>& visit,
                   std::size_t d = 0) {
    if (d == dims.size()) return visit();
    const IndexVar& var = kernel.space[static_cast<std::size_t>(dims[d])];
    for (std::int64_t i = 0; i < var.extent; ++i) {
      at[var.id] = i;
      Each(kernel, dims, at, visit, d + 1);
    }
  }

  static double FoldStep(ReduceOp op, double a, double x) {
    if (op == ReduceOp::kSum) return a + x;
    if (op == ReduceOp::kProd) return a * x;
    if (std::isnan(a) || std::isnan(x)) return std::nan("");
    return op == ReduceOp::kMax ? std::max(a, x) : std::min(a, x);
  }

  double Fold(const Kernel& kernel, ReduceOp op, Index& at, const std::function<double()>& body) const {
    double value = IdentityOf(op);
    Each(kernel, kernel.axes, at, [&] { value = FoldStep(op, value, body()); });
    return value;
  }

  // Of the first one, counted over the axes; `best`: that extreme.
  double PlaceOfExtreme(const Kernel& kernel, Index& at, const std::function<double()>& body, double& best) const {
    const bool max = kernel.variant == "argmax";
    best = max ? -INFINITY : INFINITY;
    std::int64_t place = 0, flat = 0;
    Each(kernel, kernel.axes, at, [&] {
      const double x = body();
      if ((max ? x > best : x < best) || (std::isnan(x) && !std::isnan(best))) {
        best = x;
        place = flat;
      }
      ++flat;
    });
    return static_cast<double>(place);
  }

  void RunKernel(const Kernel& kernel) {
    std::vector<int> kept;
    std::int64_t reduced_count = 1;
    for (int d = 0; d < static_cast<int>(kernel.space.size()); ++d) {
      if (std::find(kernel.axes.begin(), kernel.axes.end(), d) == kernel.axes.end()) {
        kept.push_back(d);
      } else {
        reduced_count *= kernel.space[static_cast<std::size_t>(d)].extent;
      }
    }
    const std::vector<int> result = ResultDims(kernel);
    auto& target = values_[static_cast<std::size_t>(kernel.target)];
    target.assign(static_cast<std::size_t>(ElementCount(kernel.result)), 0.0);
    for (const auto& one : kernel.also) {
      auto& made = values_[static_cast<std::size_t>(one.target)];
      made.assign(one.of_row ? target.size() / static_cast<std::size_t>(reduced_count) : target.size(), 0.0);
    }
    const std::string_view family = kernel.family->name;
    Kept at_hand;
    Orders orders;
    Index at;
    Each(kernel, kept, at, [&] {
      std::vector<double> lets;
      const auto input = [&](std::size_t i) { return Evaluate(kernel, kernel.inputs[i], at, 0, lets); };
      double it = 0, top = 0, sum = 0;
      if (family == "reduce") {
        it = Fold(kernel, Op(kernel), at, [&] { return input(0); });
        if (kernel.variant == "mean") it /= static_cast<double>(reduced_count);
        if (kernel.variant == "argmax" || kernel.variant == "argmin")
          it = PlaceOfExtreme(kernel, at, [&] { return input(0); }, top);
      } else if (family == "matmul" || family == "grouped_matmul") {
        Kernel over_k = kernel;
        over_k.axes = {kernel.axes.back()};
        if (family == "grouped_matmul") at[kernel.space[0].id] = GroupOfRow(kernel, at);
        if (HasChoice(kernel))
          at[kernel.space[static_cast<std::size_t>(kernel.axes[0])].id] = static_cast<std::int64_t>(input(2));
        const auto product = [&](const Expr& right) {
          return Fold(over_k, ReduceOp::kSum, at, [&] { return input(0) * Evaluate(kernel, right, at, 0, {}); });
        };
        it = product(kernel.inputs[1]);
        for (const auto& let : kernel.lets) lets.push_back(product(let.body));
        if (const int distance = RotationOf(kernel); distance > 0) {
          // The last dimensions of the result are the columns of a row.
          const std::int64_t columns = ColumnsOfRow(kernel);
          std::int64_t own = 0;
          for (const int d : result) {
            const IndexVar& var = kernel.space[static_cast<std::size_t>(d)];
            own = (own * var.extent + at[var.id]) % columns;
          }
          const auto go_to = [&](std::int64_t column) {
            std::int64_t left = columns;
            for (std::size_t d = result.size(); left > 1; --d) {
              const IndexVar& var = kernel.space[static_cast<std::size_t>(result[d - 1])];
              at[var.id] = column % var.extent;
              column /= var.extent;
              left /= var.extent;
            }
          };
          const bool second = own % (2 * distance) >= distance;
          go_to(second ? own - distance : own + distance);
          const double other = product(kernel.inputs[1]);
          go_to(own);
          lets.resize(static_cast<std::size_t>(distance) + 1);
          lets.back() = second ? other : -other;
        }
      } else if (family == "scaled_matmul") {
        Kernel over_k = kernel;
        over_k.axes = {kernel.axes.back()};
        it = Fold(over_k, ReduceOp::kSum, at, [&] {
          for (std::size_t d : {0, 1, 2})
            at[kernel.space[d].id] = at[kernel.space[d + 3].id] / kernel.attributes.at("block")[d];
          return input(0) * input(1) * Evaluate(kernel, kernel.lets[0].body, at, 0, {});
        });
      } else if (family == "segment_matmul") {
        Kernel over_k = kernel;
        over_k.axes = {kernel.axes.back()};
        const auto [begin, end] = SegmentOf(kernel, at);
        const int k = kernel.space.back().id;
        it = Fold(over_k, ReduceOp::kSum, at,
                  [&, begin = begin, end = end] { return begin <= at[k] && at[k] < end ? input(0) * input(1) : 0; });
      } else if (family == "matmul_reduce") {
        it = FoldedProducts(kernel, at, top);
      } else if (family == "order") {
        it = IndexInOrder(kernel, at, orders);
      } else if (family == "softmax") {
        top = Fold(kernel, ReduceOp::kMax, at, [&] { return input(0); });
        sum = Fold(kernel, ReduceOp::kSum, at, [&] { return std::exp(input(0) - top); });
      } else if (const auto value = WindowFamily(family)) {
        std::vector<std::int64_t> places;
        for (const auto& var : kernel.space) places.push_back(at[var.id]);
        it = value(
            kernel, places,
            [&](std::size_t i, double x) {
              for (std::size_t d = 0; d < places.size(); ++d) at[kernel.space[d].id] = places[d];
              return i < kernel.inputs.size() ? input(i) : Evaluate(kernel, kernel.lets[0].body, at, x, lets);
            },
            at_hand);
        lets.push_back(at_hand.row_sum);
      }
      for (const auto& let : kernel.lets) {
        if (kernel.family->let_dims) break;  // the family's own: no fold over the axes
        const double folded = Fold(kernel, let.fold, at, [&] { return Evaluate(kernel, let.body, at, 0, lets); });
        lets.push_back(Evaluate(kernel, let.finish, at, folded, lets));
      }
      const auto write = [&] {
        if (family == "softmax")
          it = kernel.variant == "log" ? input(0) - top - std::log(sum) : std::exp(input(0) - top) / sum;
        std::int64_t address = 0;
        for (const int d : result) {
          const IndexVar& var = kernel.space[static_cast<std::size_t>(d)];
          address = address * var.extent + at[var.id];
        }
        target[static_cast<std::size_t>(address)] = Held(kernel, Evaluate(kernel, kernel.epilogue, at, it, lets));
        if (family == "order" && !kernel.also.empty()) {
          at[kernel.space.back().id] = static_cast<std::int64_t>(it);
          it = input(0);
        }
        std::int64_t row = 0;
        for (const int d : kept) {
          const IndexVar& var = kernel.space[static_cast<std::size_t>(d)];
          row = row * var.extent + at[var.id];
        }
        if (family == "matmul_reduce" && !kernel.also.empty()) it = top;
        for (const auto& one : kernel.also)
          values_[static_cast<std::size_t>(one.target)][static_cast<std::size_t>(one.of_row ? row : address)] =
              HeldBy(one.target, Evaluate(kernel, one.value, at, it, lets));
      };
      if (kernel.family->keeps_axes) {
        Each(kernel, kernel.axes, at, write);
      } else {
        write();
      }
    });
  }

  static ReduceOp Op(const Kernel& kernel) {
    return kernel.variant == "prod"  ? ReduceOp::kProd
           : kernel.variant == "max" ? ReduceOp::kMax
           : kernel.variant == "min" ? ReduceOp::kMin
                                     : ReduceOp::kSum;
  }

  // As many groups end at or before the row, but it is of one.
  std::int64_t GroupOfRow(const Kernel& kernel, Index at) const {
    const IndexVar group = kernel.space[0];
    const auto row = static_cast<double>(at.at(kernel.space[1].id));
    std::int64_t ended = 0;
    for (at[group.id] = 0; at[group.id] < group.extent; ++at[group.id])
      ended += Evaluate(kernel, kernel.inputs[2], at, 0, {}) <= row ? 1 : 0;
    return std::min(ended, group.extent - 1);
  }

  // Where a segment of K begins and ends.
  std::pair<std::int64_t, std::int64_t> SegmentOf(const Kernel& kernel, Index at) const {
    const int segment = kernel.space[0].id;
    const auto end = [&] { return static_cast<std::int64_t>(Evaluate(kernel, kernel.inputs[2], at, 0, {})); };
    const std::int64_t last = end();
    if (at[segment]-- == 0) return {0, last};
    return {end(), last};
  }

  // The index of the element of a row that has a place in its order: so many come before it. Rows that were put in
  // order are in `orders`, by where they are.
  using Orders = std::map<std::vector<std::int64_t>, std::vector<std::int64_t>>;
  double IndexInOrder(const Kernel& kernel, Index& at, Orders& orders) const {
    const IndexVar along = kernel.space.back();
    const int place = kernel.space[static_cast<std::size_t>(kernel.attributes.at("over")[0])].id;
    std::vector<std::int64_t> row;
    for (const auto& index : kernel.space)
      row.push_back(index.id == along.id || index.id == place ? 0 : at.at(index.id));
    auto& order = orders[row];
    if (order.empty()) {
      std::vector<double> elements;
      for (at[along.id] = 0; at[along.id] < along.extent; ++at[along.id]) {
        elements.push_back(Evaluate(kernel, kernel.inputs[0], at, 0, {}));
        order.push_back(at[along.id]);
      }
      const bool descending = kernel.variant == "descending";
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const double low = elements[static_cast<std::size_t>(descending ? b : a)],
                     high = elements[static_cast<std::size_t>(descending ? a : b)];
        return low < high || (std::isnan(high) && !std::isnan(low));
      });
    }
    return static_cast<double>(order[static_cast<std::size_t>(at.at(place))]);
  }

  // The scores of one row, folded; `top`: where a place is wanted, the score that is there.
  double FoldedProducts(const Kernel& kernel, Index& at, double& top) {
    Kernel outer = kernel, inner = kernel;
    outer.axes = {kernel.axes[0]};
    inner.axes = {kernel.axes[1]};
    const auto group = kernel.attributes.find("group");
    const auto score = [&] {
      if (group != kernel.attributes.end() &&
          at[kernel.space[static_cast<std::size_t>(kernel.axes[0])].id] / group->second[0] != at[kernel.space[0].id])
        return IdentityOf(Op(kernel));
      const double product = Fold(inner, ReduceOp::kSum, at, [&] {
        return Evaluate(kernel, kernel.inputs[0], at, 0, {}) * Evaluate(kernel, kernel.inputs[1], at, 0, {});
      });
      return kernel.lets.empty() ? product : Evaluate(kernel, kernel.lets[0].body, at, product, {});
    };
    if (kernel.variant == "argmax" || kernel.variant == "argmin") return PlaceOfExtreme(outer, at, score, top);
    if (kernel.variant != "logsumexp") return Fold(outer, Op(kernel), at, score);
    top = Fold(outer, ReduceOp::kMax, at, score);
    const double base = std::isinf(top) ? 0 : top;
    return base + std::log(Fold(outer, ReduceOp::kSum, at, [&] { return std::exp(score() - base); }));
  }

  const KernelProgram& program_;
  std::vector<std::vector<double>>& values_;
};

}  // namespace hone::dsl::testing
