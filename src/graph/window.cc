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

namespace {

struct Even {
  std::size_t outer = 0;
  Shape shape;
  std::vector<std::int64_t> extents, sizes, widest;
  Expr Start(std::size_t d, const Expr& at) const { return Apply(BinaryOp::kFloorDiv, at * extents[d], sizes[d]); }
  Expr End(std::size_t d, const Expr& at) const {
    return Apply(BinaryOp::kFloorDiv, (at + 1) * extents[d] + (sizes[d] - 1), sizes[d]);
  }
};

Even ReadEven(OpCall& call, const Operand& x, int spatial) {
  Even even;
  even.sizes = call.Ints("output_size");
  if (even.sizes.size() == 1) even.sizes.resize(static_cast<std::size_t>(spatial), even.sizes[0]);
  if (x.rank() < spatial + 1 || x.rank() > spatial + 2 || static_cast<int>(even.sizes.size()) != spatial) {
    call.Fail("needs one or two dimensions before those that are pooled, and an output_size of one number each");
    return even;
  }
  even.outer = x.shape().size() - static_cast<std::size_t>(spatial);
  even.shape.assign(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(even.outer));
  even.extents.assign(x.shape().begin() + static_cast<std::ptrdiff_t>(even.outer), x.shape().end());
  for (std::size_t d = 0; d < even.extents.size(); ++d) {
    const std::int64_t n = even.extents[d], m = even.sizes[d];
    if (n < 1 || m < 0) {
      call.Fail("needs something to pool");
      return even;
    }
    std::int64_t widest = 1;
    for (std::int64_t i = 0; i < m; ++i) widest = std::max(widest, ((i + 1) * n + m - 1) / m - i * n / m);
    even.widest.push_back(widest);
    even.shape.push_back(m);
  }
  return even;
}

// x at one place of the window; `otherwise` past the end of a window that is narrower than the widest.
Expr At(const Operand& x, const Even& even, Indices at, Indices in_window, const Expr& otherwise) {
  std::vector<Expr> full(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(even.outer));
  Expr inside = Expr::Bool(true);
  for (std::size_t d = 0; d < even.extents.size(); ++d) {
    full.push_back(even.Start(d, at[even.outer + d]) + in_window[d]);
    if (even.sizes[d] > 0 && even.extents[d] % even.sizes[d] != 0)
      inside = And(inside, Less(full.back(), even.End(d, at[even.outer + d])));
  }
  return Select(inside, x(full), otherwise);
}

}  // namespace

void DefineAdaptiveAveragePool(OpCall& call, int spatial) {
  const Operand x = call.Tensor("self");
  const Even even = ReadEven(call, x, spatial);
  if (call.failed()) return;
  call.Output(even.shape, x.dtype(), [&](Indices at) {
    const Expr sum = Fold(ReduceOp::kSum, even.widest, [&](Indices in_window) {
      return Cast(At(x, even, at, in_window, Cast(0.0, ScalarTypeOf(x.dtype()))), ScalarType::kReal);
    });
    Expr count = 1;
    for (std::size_t d = 0; d < even.extents.size(); ++d) {
      const bool alike = even.sizes[d] > 0 && even.extents[d] % even.sizes[d] == 0;
      count =
          count * (alike ? Expr(even.widest[d]) : even.End(d, at[even.outer + d]) - even.Start(d, at[even.outer + d]));
    }
    return sum / count;
  });
}

void DefineAdaptiveMaxPool(OpCall& call, int spatial) {
  const Operand x = call.Tensor("self");
  const Even even = ReadEven(call, x, spatial);
  if (call.failed()) return;
  const Expr lowest = ScalarTypeOf(x.dtype()) == ScalarType::kReal ? Expr(-std::numeric_limits<double>::infinity())
                                                                   : Expr(std::numeric_limits<std::int64_t>::min());
  const auto fold = [&](ReduceOp op, Indices at) {
    return Fold(op, even.widest, [&](Indices in_window) { return At(x, even, at, in_window, lowest); });
  };
  call.Output(even.shape, x.dtype(), [&](Indices at) { return fold(ReduceOp::kMax, at); });
  const Operand in_window =
      call.Let("place", even.shape, DType::kI64, [&](Indices at) { return fold(ReduceOp::kArgMax, at); });
  call.Output(even.shape, DType::kI64, [&](Indices at) {
    const auto steps = Unflatten(in_window(at), even.widest);
    Expr flat = 0;
    for (std::size_t d = 0; d < steps.size(); ++d)
      flat = flat * even.extents[d] + even.Start(d, at[even.outer + d]) + steps[d];
    return flat;
  });
}

void DefineMaxUnpool(OpCall& call, int spatial) {
  call.Ignore({"stride", "padding"});  // output_size says the shape
  const Operand x = call.Tensor("self"), indices = call.Tensor("indices");
  const auto sizes = call.Ints("output_size");
  if (static_cast<int>(sizes.size()) != spatial || x.shape() != indices.shape() || x.rank() < spatial + 1)
    return call.Fail("needs self and indices of one shape, and an output_size of one number a pooled dimension");
  const auto outer = x.shape().size() - static_cast<std::size_t>(spatial);
  Shape shape(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(outer));
  const std::vector<std::int64_t> plane(x.shape().begin() + static_cast<std::ptrdiff_t>(outer), x.shape().end());
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  const auto source = [&](Indices at, const std::vector<Expr>& k) {
    std::vector<Expr> full(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(outer));
    full.insert(full.end(), k.begin(), k.end());
    return full;
  };
  if (ElementCount(plane) == 0)
    return call.Output(shape, x.dtype(), [&](Indices) { return Cast(0.0, ScalarTypeOf(x.dtype())); });
  // Of several that name one place the last counts.
  const Operand last = call.Let("last", shape, DType::kI64, [&](Indices at) {
    const Expr place = Flatten(at.subspan(outer), sizes);
    return Fold(ReduceOp::kMax, plane, [&](Indices k) {
      return Select(Equal(indices(source(at, {k.begin(), k.end()})), place), Flatten(k, plane), std::int64_t{-1});
    });
  });
  call.Output(shape, x.dtype(), [&](Indices at) {
    return Select(LessEqual(0, last(at)), x(source(at, Unflatten(last(at), plane))),
                  Cast(0.0, ScalarTypeOf(x.dtype())));
  });
}

namespace {

struct Blocks {
  std::vector<std::int64_t> kernel, dilation, padding, stride, places;
};

Blocks ReadBlocks(OpCall& call, std::int64_t height, std::int64_t width) {
  Blocks blocks;
  const auto pair = [&](std::string_view name) {
    auto values = call.Ints(name);
    if (values.size() == 1) values.push_back(values[0]);
    if (values.size() != 2) call.Fail("kernel_size, dilation, padding and stride need two numbers");
    values.resize(2, 1);
    return values;
  };
  blocks.kernel = pair("kernel_size"), blocks.dilation = pair("dilation");
  blocks.padding = pair("padding"), blocks.stride = pair("stride");
  const std::int64_t extents[2] = {height, width};
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t room = extents[d] + 2 * blocks.padding[d] - blocks.dilation[d] * (blocks.kernel[d] - 1) - 1;
    if (blocks.stride[d] < 1 || blocks.dilation[d] < 1 || blocks.kernel[d] < 1 || room < 0)
      call.Fail("the blocks do not fit");
    blocks.places.push_back(call.failed() ? 1 : room / blocks.stride[d] + 1);
  }
  return blocks;
}

}  // namespace

void DefineUnfoldBlocks(OpCall& call) {
  const Operand x = call.Tensor("self");
  if (x.rank() != 3 && x.rank() != 4) return call.Fail("needs [n, c, h, w] or [c, h, w]");
  const bool batched = x.rank() == 4;
  const std::int64_t extents[2] = {x.dim(x.rank() - 2), x.dim(x.rank() - 1)};
  const Blocks b = ReadBlocks(call, extents[0], extents[1]);
  if (call.failed()) return;
  const std::int64_t area = b.kernel[0] * b.kernel[1];
  Shape shape = {x.dim(x.rank() - 3) * area, b.places[0] * b.places[1]};
  if (batched) shape.insert(shape.begin(), x.dim(0));
  call.Output(shape, x.dtype(), [&](Indices at) {
    const Expr& row = at[at.size() - 2];
    const auto in_block = Unflatten(Apply(BinaryOp::kFloorMod, row, area), b.kernel);
    const auto place = Unflatten(at.back(), b.places);
    std::vector<Expr> full;
    if (batched) full.push_back(at[0]);
    full.push_back(Apply(BinaryOp::kFloorDiv, row, area));
    Expr inside = Expr::Bool(true);
    for (std::size_t d = 0; d < 2; ++d) {
      full.push_back(place[d] * b.stride[d] + in_block[d] * b.dilation[d] - b.padding[d]);
      if (b.padding[d] > 0) inside = And(inside, And(LessEqual(0, full.back()), Less(full.back(), extents[d])));
    }
    return Select(inside, x(full), Cast(0.0, ScalarTypeOf(x.dtype())));
  });
}

void DefineFoldBlocks(OpCall& call) {
  const Operand x = call.Tensor("self");
  const auto size = call.Ints("output_size");
  if (size.size() != 2 || (x.rank() != 2 && x.rank() != 3))
    return call.Fail("needs [n, c * kernel, places] and a size of two numbers");
  const Blocks b = ReadBlocks(call, size[0], size[1]);
  const std::int64_t area = b.kernel[0] * b.kernel[1];
  if (call.failed() || x.dim(x.rank() - 2) % area != 0 || x.dim(x.rank() - 1) != b.places[0] * b.places[1])
    return call.Fail("the columns do not fit the blocks");
  const bool batched = x.rank() == 3;
  Shape shape = {x.dim(x.rank() - 2) / area, size[0], size[1]};
  if (batched) shape.insert(shape.begin(), x.dim(0));
  call.Output(shape, x.dtype(), [&](Indices at) {
    const Expr channel = at[at.size() - 3];
    return Fold(ReduceOp::kSum, b.kernel, [&](Indices k) {
      Expr hit = Expr::Bool(true);
      std::vector<Expr> place;
      for (std::size_t d = 0; d < 2; ++d) {
        const Expr from = at[at.size() - 2 + d] + b.padding[d] - k[d] * b.dilation[d];
        const Expr step = Apply(BinaryOp::kFloorDiv, from, b.stride[d]);
        hit = And(hit, And(Equal(Apply(BinaryOp::kFloorMod, from, b.stride[d]), 0),
                           And(LessEqual(0, step), Less(step, b.places[d]))));
        place.push_back(step);
      }
      std::vector<Expr> full;
      if (batched) full.push_back(at[0]);
      full.push_back(channel * area + Flatten(k, b.kernel));
      full.push_back(Flatten(place, b.places));
      return Select(hit, x(full), Cast(0.0, ScalarTypeOf(x.dtype())));
    });
  });
}

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
