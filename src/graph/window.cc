#include "graph/window.h"

#include <algorithm>
#include <limits>

namespace hone {
namespace {

struct Window {
  std::size_t outer = 0;  // dimensions before the spatial ones
  Shape shape;            // of the result
  std::vector<std::int64_t> extents, kernel, stride, padding, dilation;
};

Window ReadWindow(OpCall& call, const Operand& x, int spatial) {
  Window window;
  const auto list = [&](std::string_view name, std::int64_t otherwise) {
    auto values = call.Ints(name, std::vector<std::int64_t>{otherwise});
    if (values.size() == 1) values.resize(static_cast<std::size_t>(spatial), values[0]);
    return values;
  };
  window.kernel = list("kernel_size", 1);
  window.stride = list("stride", 1);
  if (!call.Has("stride") || window.stride.empty()) window.stride = window.kernel;
  window.padding = list("padding", 0);
  window.dilation = list("dilation", 1);
  const bool ceil = call.Bool("ceil_mode", false);
  if (x.rank() != spatial + 1 && x.rank() != spatial + 2) {
    call.Fail("needs one or two dimensions before those that are pooled");
    return window;
  }
  window.outer = x.shape().size() - static_cast<std::size_t>(spatial);
  window.shape.assign(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(window.outer));
  window.extents.assign(x.shape().begin() + static_cast<std::ptrdiff_t>(window.outer), x.shape().end());
  for (const auto* values : {&window.kernel, &window.stride, &window.padding, &window.dilation}) {
    if (static_cast<int>(values->size()) == spatial) continue;
    call.Fail("kernel_size, stride, padding and dilation need one number a pooled dimension");
    return window;
  }
  for (std::size_t d = 0; d < window.extents.size(); ++d) {
    const std::int64_t stride = window.stride[d], padding = window.padding[d];
    if (stride < 1 || window.kernel[d] < 1 || window.dilation[d] < 1)
      call.Fail("kernel_size, stride and dilation have to be positive");
    const std::int64_t room =
        window.extents[d] + 2 * padding - window.dilation[d] * (window.kernel[d] - 1) - 1 + (ceil ? stride - 1 : 0);
    if (call.failed() || room < 0) {
      call.Fail("the window is larger than what it slides over");
      return window;
    }
    std::int64_t count = room / stride + 1;
    if (ceil && (count - 1) * stride >= window.extents[d] + padding) --count;  // a window has to start inside
    window.shape.push_back(count);
  }
  return window;
}

// x at one place of the window, or `otherwise` beside the edge. `place` gets the spatial indices.
Expr At(const Operand& x, const Window& window, Indices at, Indices in_window, const Expr& otherwise) {
  std::vector<Expr> full(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(window.outer));
  Expr inside = Expr::Bool(true);
  for (std::size_t d = 0; d < window.extents.size(); ++d) {
    const Expr place = at[window.outer + d] * window.stride[d] + in_window[d] * window.dilation[d] - window.padding[d];
    const std::int64_t last = (window.shape[window.outer + d] - 1) * window.stride[d] +
                              (window.kernel[d] - 1) * window.dilation[d] - window.padding[d];
    if (window.padding[d] > 0) inside = And(inside, LessEqual(0, place));
    if (last >= window.extents[d]) inside = And(inside, Less(place, window.extents[d]));
    full.push_back(place);
  }
  return Select(inside, x(full), otherwise);
}

}  // namespace

void DefineMaxPool(OpCall& call, int spatial) {
  const Operand x = call.Tensor("self");
  const Window window = ReadWindow(call, x, spatial);
  if (call.failed()) return;
  const Expr lowest = ScalarTypeOf(x.dtype()) == ScalarType::kReal ? Expr(-std::numeric_limits<double>::infinity())
                                                                   : Expr(std::numeric_limits<std::int64_t>::min());
  const auto fold = [&](ReduceOp op, Indices at) {
    return Fold(op, window.kernel, [&](Indices in_window) { return At(x, window, at, in_window, lowest); });
  };
  call.Output(window.shape, x.dtype(), [&](Indices at) { return fold(ReduceOp::kMax, at); });
  const Operand in_window =
      call.Let("place", window.shape, DType::kI64, [&](Indices at) { return fold(ReduceOp::kArgMax, at); });
  call.Output(window.shape, DType::kI64, [&](Indices at) {
    Expr rest = in_window(at), flat = 0;
    std::vector<Expr> steps(window.extents.size());
    for (std::size_t d = window.extents.size(); d-- > 0;) {
      steps[d] = Apply(BinaryOp::kFloorMod, rest, window.kernel[d]);
      rest = Apply(BinaryOp::kFloorDiv, rest, window.kernel[d]);
    }
    for (std::size_t d = 0; d < window.extents.size(); ++d) {
      const Expr place = at[window.outer + d] * window.stride[d] + steps[d] * window.dilation[d] - window.padding[d];
      // Only where all of the window lies outside, or holds nothing above the lowest number, is the first place the one
      // that is found: then it is the first one inside that counts.
      flat = flat * window.extents[d] +
             Select(Less(place, 0), Apply(BinaryOp::kFloorMod, place, window.dilation[d]), place);
    }
    return flat;
  });
}

void DefineAveragePool(OpCall& call, int spatial) {
  const Operand x = call.Tensor("self");
  const Window window = ReadWindow(call, x, spatial);
  const bool with_padding = call.Bool("count_include_pad", true);
  const std::int64_t divisor = call.Int("divisor_override", 0);
  if (call.failed()) return;
  call.Output(window.shape, x.dtype(), [&](Indices at) {
    const Expr sum = Fold(ReduceOp::kSum, window.kernel, [&](Indices in_window) {
      return Cast(At(x, window, at, in_window, Cast(0.0, ScalarTypeOf(x.dtype()))), ScalarType::kReal);
    });
    Expr count = divisor != 0 ? divisor : 1;
    for (std::size_t d = 0; divisor == 0 && d < window.extents.size(); ++d) {
      const Expr start = at[window.outer + d] * window.stride[d] - window.padding[d];
      const Expr end = Min(start + window.kernel[d], window.extents[d] + window.padding[d]);
      count = count * (with_padding ? end - start : Min(end, window.extents[d]) - Max(start, 0));
    }
    return sum / count;
  });
}

}  // namespace hone
