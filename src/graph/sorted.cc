#include "graph/sorted.h"

#include <optional>
#include <vector>

namespace hone {

void CountBelow(OpCall& call, std::string_view sorted_name) {
  const Operand sorted = call.Tensor(sorted_name);
  const std::optional<Operand> x = call.IsTensor("self") ? std::optional(call.Tensor("self")) : std::nullopt;
  const Expr number = x ? Expr() : call.Scalar("self");
  const std::string side = call.String("side", "left");
  const bool right = call.Bool("right", false) || side == "right";
  if (sorted.rank() < 1 || (sorted.rank() > 1 && !(x && x->rank() == sorted.rank())))
    return call.Fail("the sorted numbers have to be a vector, or rows that fit those of self");
  const DType dtype = call.Bool("out_int32", false) ? DType::kI32 : DType::kI64;
  call.Output(x ? x->shape() : Shape{}, dtype, [&](Indices at) {
    const Expr v = x ? (*x)(at) : number;
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{sorted.shape().back()}, [&](Indices k) {
      std::vector<Expr> full = {k[0]};
      if (sorted.rank() > 1) full = Replaced(at, sorted.rank() - 1, k[0]);
      const Expr bound = sorted(full);
      // Whole numbers are compared as such: a real of 32 bits does not hold all of them.
      const bool reals = bound->type == ScalarType::kReal || v->type == ScalarType::kReal;
      const ScalarType type = reals ? ScalarType::kReal : ScalarType::kInt;
      const Expr a = Cast(bound, type), b = Cast(v, type), below = right ? LessEqual(a, b) : Less(a, b);
      // A NaN lies above all numbers.
      return Cast(reals ? Apply(BinaryOp::kOr, below, Apply(UnaryOp::kIsNan, b)) : below, ScalarType::kInt);
    });
  });
}

}  // namespace hone
