#include "graph/sorted.h"

#include <optional>
#include <vector>

namespace hone {

void CountBelow(OpCall& call, std::string_view sorted_name) {
  const Operand sorted = call.Tensor(sorted_name);
  const std::optional<Operand> x = call.IsTensor("self") ? std::optional(call.Tensor("self")) : std::nullopt;
  const Expr number = x ? Expr() : call.Scalar("self");
  const bool right = call.Bool("right", false) || call.String("side", "left") == "right";
  if (sorted.rank() < 1 || (sorted.rank() > 1 && !(x && x->rank() == sorted.rank())))
    return call.Fail("the sorted numbers have to be a vector, or rows that fit those of self");
  const DType dtype = call.Bool("out_int32", false) ? DType::kI32 : DType::kI64;
  // Whole numbers are compared as such: a real of 32 bits does not hold all of them.
  const auto is_whole = [](const Expr& e) { return e->type != ScalarType::kReal; };
  call.Output(x ? x->shape() : Shape{}, dtype, [&](Indices at) {
    const Expr v = x ? (*x)(at) : number;
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{sorted.shape().back()}, [&](Indices k) {
      std::vector<Expr> full = {k[0]};
      if (sorted.rank() > 1) full = Replaced(at, sorted.rank() - 1, k[0]);
      const Expr bound = sorted(full);
      if (is_whole(bound) && is_whole(v)) {
        const Expr a = Cast(bound, ScalarType::kInt), b = Cast(v, ScalarType::kInt);
        return Cast(right ? LessEqual(a, b) : Less(a, b), ScalarType::kInt);
      }
      const Expr a = Cast(bound, ScalarType::kReal), b = Cast(v, ScalarType::kReal);
      // A NaN lies above all numbers.
      return Cast(Apply(BinaryOp::kOr, right ? LessEqual(a, b) : Less(a, b), Apply(UnaryOp::kIsNan, b)),
                  ScalarType::kInt);
    });
  });
}

}  // namespace hone
