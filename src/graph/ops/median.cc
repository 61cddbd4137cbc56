#include "graph/order.h"

namespace hone::op_median {

// The lower of the two in the middle, where they are two.
HONE_OP(median, "the element in the middle along dim, and where it is; of all elements without a dim; NaN if one is") {
  const Operand self = call.Tensor("self");
  const bool one = call.Has("dim");
  const Operand x = one ? self : call.Reshape(self, {ElementCount(self.shape())});
  const int dim = one ? call.Dim("dim", x.rank()) : 0;
  if (ElementCount(x.shape()) == 0) return call.Fail("hone does not define the middle of no elements");
  const std::int64_t middle = (x.dim(dim) - 1) / 2;
  const Operand order = OrderOf(call, x, dim, false, middle + 1, Equals::kInAnyOrder);
  const Shape shape = OpCall::ReducedShape(x.shape(), x.rank() == 0 ? std::vector<int>{} : std::vector<int>{dim},
                                           one && call.Bool("keepdim", false));
  const auto row = [&](Indices at, const Expr& place) {
    std::vector<Expr> full(at.begin(), at.end());
    if (x.rank() == 0) return full;
    if (shape.size() != x.shape().size()) full.insert(full.begin() + dim, place);
    return Replaced(full, dim, place);
  };
  const auto along = [&](ReduceOp op) {
    const bool place = IsArg(op);
    return call.Let(place ? "largest_at" : "largest", shape, place ? DType::kI64 : x.dtype(), [&](Indices at) {
      return Fold(op, std::vector<std::int64_t>{x.dim(dim)}, [&](Indices k) { return x(row(at, k[0])); });
    });
  };
  Operand places;
  if (IsFloat(x.dtype())) {
    // In order a NaN is behind all numbers; here one is the result, the first that there is.
    const Operand largest = along(ReduceOp::kMax), largest_at = along(ReduceOp::kArgMax);
    call.AllowAnyOfEquals(largest_at);
    places = call.Let("place", shape, DType::kI64, [&](Indices at) {
      return Select(Apply(UnaryOp::kIsNan, largest(at)), largest_at(at), order(row(at, middle)));
    });
  } else {
    places = call.Let("place", shape, DType::kI64, [&](Indices at) { return order(row(at, middle)); });
  }
  call.Output(shape, x.dtype(), [&](Indices at) { return x(row(at, places(at))); });
  if (one) call.Output(places);
}

}  // namespace hone::op_median
