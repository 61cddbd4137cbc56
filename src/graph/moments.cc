#include "graph/moments.h"

#include <algorithm>

namespace hone {

void DefineMoments(OpCall& call, Moment moment, bool with_mean) {
  const Operand x = call.Tensor("self");
  const auto dims = call.Dims("dim", x.rank());
  const bool keep = call.Bool("keepdim", false);
  const double correction = call.Has("unbiased") ? (call.Bool("unbiased") ? 1 : 0) : call.Real("correction", 1);
  double count = 1;
  std::vector<std::int64_t> extents;
  for (const int dim : dims) {
    count *= static_cast<double>(x.dim(dim));
    extents.push_back(x.dim(dim));
  }
  const Shape kept = OpCall::ReducedShape(x.shape(), dims, true);
  const auto inside = [&](Indices at, Indices reduced) {
    std::vector<Expr> full(at.begin(), at.end());
    for (std::size_t i = 0; i < dims.size(); ++i) full[static_cast<std::size_t>(dims[i])] = reduced[i];
    return full;
  };
  const Operand mean = call.Let("mean", kept, KeptIn(x.dtype()), [&](Indices at) {
    return Fold(ReduceOp::kSum, extents, [&](Indices k) { return x(inside(at, k)); }) / count;
  });
  const Operand result = call.Let(moment == Moment::kVar ? "var" : "std", kept, x.dtype(), [&](Indices at) {
    const Expr squares = Fold(ReduceOp::kSum, extents, [&](Indices k) {
      const Expr d = x(inside(at, k)) - mean(at);
      return d * d;
    });
    const Expr var = squares / std::max(count - correction, 0.0);
    return moment == Moment::kVar ? var : Sqrt(var);
  });
  const Shape shape = OpCall::ReducedShape(x.shape(), dims, keep);
  call.Output(call.Reshape(result, shape));
  if (with_mean) call.Output(call.Reshape(call.As(mean, x.dtype()), shape));
}

}  // namespace hone
