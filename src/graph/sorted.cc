#include "graph/sorted.h"

#include <optional>
#include <vector>

namespace hone {

void CountBelow(OpCall& call, std::string_view sorted_name) {
  const Operand sorted = call.Tensor(sorted_name);
  const std::optional<Operand> x = call.IsTensor("self") ? std::optional(call.Tensor("self")) : std::nullopt;
  const Expr number = x ? Expr() : Cast(call.Scalar("self"), ScalarType::kReal);
  const bool right = call.Bool("right", false) || call.String("side", "left") == "right";
  if (sorted.rank() < 1 || (sorted.rank() > 1 && !(x && x->rank() == sorted.rank())))
    return call.Fail("the sorted numbers have to be a vector, or rows that fit those of self");
  const DType dtype = call.Bool("out_int32", false) ? DType::kI32 : DType::kI64;
  call.Output(x ? x->shape() : Shape{}, dtype, [&](Indices at) {
    const Expr v = x ? Cast((*x)(at), ScalarType::kReal) : number;
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{sorted.shape().back()}, [&](Indices k) {
      std::vector<Expr> full = {k[0]};
      if (sorted.rank() > 1) full = Replaced(at, sorted.rank() - 1, k[0]);
      const Expr bound = Cast(sorted(full), ScalarType::kReal);
      const Expr below = right ? LessEqual(bound, v) : Less(bound, v);
      // A NaN lies above all numbers.
      return Cast(Apply(BinaryOp::kOr, below, Apply(UnaryOp::kIsNan, v)), ScalarType::kInt);
    });
  });
}

}  // namespace hone
