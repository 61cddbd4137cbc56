#include "graph/loss.h"

#include <cmath>

namespace hone {

void OutputLoss(OpCall& call, const Shape& shape, DType dtype, const ElementFunction& loss) {
  const std::int64_t reduction = call.Int("reduction", 1);
  if (reduction < 0 || reduction > 2) return call.Fail("reduction has to be 0, 1 or 2");
  if (reduction == 0) return call.Output(shape, dtype, loss);
  // A sum of whole numbers is as wide as sums are.
  call.Output({}, IsFloat(dtype) ? dtype : DType::kI64, [&](Indices) {
    const Expr sum = Fold(ReduceOp::kSum, shape, loss);
    return reduction == 1 ? sum / static_cast<double>(ElementCount(shape)) : sum;
  });
}

void DefinePairLoss(OpCall& call, const std::function<Expr(const Expr&, const Expr&)>& loss) {
  const Operand x = call.Tensor("self"), target = call.Tensor("target");
  const DType dtype = call.CommonType({"self", "target"});
  const Shape shape = call.BroadcastShape({x, target});
  OutputLoss(call, shape, dtype, [&](Indices at) {
    return loss(Cast(x.Broadcast(at), ScalarTypeOf(dtype)), Cast(target.Broadcast(at), ScalarTypeOf(dtype)));
  });
}

void DefineNllLoss(OpCall& call, bool with_total) {
  const Operand x = call.Tensor("self"), target = call.Tensor("target");
  const auto weight = call.MaybeTensor("weight");
  const std::int64_t reduction = call.Int("reduction", 1), ignored = call.Int("ignore_index", -100);
  const int class_dim = x.rank() == 1 ? 0 : 1;
  if (x.rank() < 1 || target.shape() != OpCall::ReducedShape(x.shape(), {class_dim}, false) ||
      ScalarTypeOf(target.dtype()) != ScalarType::kInt) {
    return call.Fail("needs self [n, c, ...] and target [n, ...] of class numbers");
  }
  const auto counts = [&](Indices at) { return Apply(BinaryOp::kNotEqual, target(at), ignored); };
  const auto weight_at = [&](Indices at) { return weight ? (*weight)({target(at)}) : Expr(1.0); };
  const auto loss = [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    full.insert(full.begin() + class_dim, target(at));
    return Select(counts(at), weight ? -(weight_at(at) * x(full)) : -x(full), 0.0);
  };
  const auto total = [&] {
    return Fold(ReduceOp::kSum, target.shape(), [&](Indices at) { return Select(counts(at), weight_at(at), 0.0); });
  };
  if (reduction == 0) {
    call.Output(target.shape(), x.dtype(), loss);
  } else {
    call.Output({}, x.dtype(), [&](Indices) {
      const Expr sum = Fold(ReduceOp::kSum, target.shape(), loss);
      return reduction == 1 ? sum / total() : sum;
    });
  }
  if (with_total)
    call.Output({}, x.dtype(), [&](Indices) { return reduction == 0 && x.rank() > 1 ? Expr(0.0) : total(); });
}

Expr LengthOf(double p, const std::vector<std::int64_t>& extents, const ElementFunction& size) {
  if (std::isinf(p)) return Fold(p > 0 ? ReduceOp::kMax : ReduceOp::kMin, extents, size);
  if (p == 1) return Fold(ReduceOp::kSum, extents, size);
  if (p == 2) {
    return Sqrt(Fold(ReduceOp::kSum, extents, [&](Indices k) {
      const Expr d = size(k);
      return d * d;
    }));
  }
  if (p == 0) {
    return Fold(ReduceOp::kSum, extents,
                [&](Indices k) { return Cast(Apply(BinaryOp::kNotEqual, size(k), 0.0), ScalarType::kReal); });
  }
  return Apply(BinaryOp::kPow,
               Fold(ReduceOp::kSum, extents, [&](Indices k) { return Apply(BinaryOp::kPow, size(k), p); }), 1 / p);
}

Operand PairDistance(OpCall& call, const Operand& a, const Operand& b, double p, double eps) {
  Shape shape = call.BroadcastShape({a, b});
  if (shape.empty()) call.Fail("needs at least one dimension");
  const std::int64_t width = shape.empty() ? 1 : shape.back();
  if (!shape.empty()) shape.pop_back();
  return call.Let("distance", shape, a.dtype(), [&](Indices at) {
    return LengthOf(p, std::vector<std::int64_t>{width}, [&](Indices k) {
      std::vector<Expr> full(at.begin(), at.end());
      full.push_back(k[0]);
      return Abs(a.Broadcast(full) - b.Broadcast(full) + eps);
    });
  });
}

Operand CosineOf(OpCall& call, const Operand& a, const Operand& b, int dim,
                 const std::function<Expr(const Expr&, const Expr&)>& join) {
  const Shape both = call.BroadcastShape({a, b});
  const Shape shape = OpCall::ReducedShape(both, {dim}, false);
  const std::vector<std::int64_t> extent = {both[static_cast<std::size_t>(dim)]};
  const auto product = [&](std::string_view hint, const Operand& x, const Operand& y) {
    return call.Let(hint, shape, a.dtype(), [&](Indices at) {
      return Fold(ReduceOp::kSum, extent, [&](Indices k) {
        std::vector<Expr> full(at.begin(), at.end());
        full.insert(full.begin() + dim, k[0]);
        return x.Broadcast(full) * y.Broadcast(full);
      });
    });
  };
  const Operand dot = product("dot", a, b), left = product("left", a, a), right = product("right", b, b);
  return call.Let("cosine", shape, a.dtype(), [&](Indices at) { return dot(at) / join(left(at), right(at)); });
}

}  // namespace hone
