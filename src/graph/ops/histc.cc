#include <cmath>

#include "graph/op.h"

namespace hone::op_histc {

HONE_OP(
    histc,
    "how many elements of self lie in each of bins equal parts of min .. max (of self's own where both are the same)") {
  const Operand given = call.Tensor("self");
  const std::int64_t bins = call.Int("bins", 100), count = ElementCount(given.shape());
  const DType dtype = given.dtype();
  const ScalarType type = ScalarTypeOf(dtype);
  if (type == ScalarType::kBool) return call.Fail("PyTorch does not count truth values either");
  if (bins < 1) return call.Fail("needs a bin");
  const double min = call.Real("min", 0), max = call.Real("max", 0);
  if (!std::isfinite(min) || !std::isfinite(max)) return call.Fail("min and max have to be finite");
  if (max < min) return call.Fail("max is below min");
  if (call.failed()) return;
  if (count == 0) return call.Output({bins}, dtype, [&](Indices) { return Cast(0, type); });
  const Operand x = call.Reshape(given, {count});
  const bool real = type == ScalarType::kReal;
  Expr low = Cast(call.Scalar("min", 0), type), high = Cast(call.Scalar("max", 0), type),
       width = real ? max - min : high - low;
  if (SameExpr(low, high)) {
    const auto extreme = [&](std::string_view hint, ReduceOp op) {
      return call.Let(hint, {}, dtype, [&](Indices) {
        return Fold(op, std::vector{count}, [&](Indices k) { return x({k[0]}); });
      })(std::vector<Expr>{});
    };
    const Expr least = extreme("least", ReduceOp::kMin), largest = extreme("largest", ReduceOp::kMax),
               room = Cast(Equal(least, largest), type);
    low = least - room, high = largest + room, width = high - low;
  }
  // Of what is in none: one before all.
  const Operand bin = call.Let("bin", {count}, DType::kI64, [&](Indices at) {
    const Expr v = x({at[0]}), above = (ConstantNumber(low) == 0 ? v : v - low) * Cast(bins, type);
    const Expr place = real ? Cast(above / width, ScalarType::kInt) : Apply(BinaryOp::kFloorDiv, above, width);
    const Expr inside = And(LessEqual(low, v), LessEqual(v, high));
    return Select(inside, Select(Less(v, high), Min(place, bins - 1), bins - 1), std::int64_t{-1});
  });
  call.Output({bins}, dtype, [&](Indices at) {
    const Expr number =
        Fold(ReduceOp::kSum, std::vector{count}, [&](Indices k) { return Cast(Equal(bin({k[0]}), at[0]), type); });
    // A sum of reals is in doubt by its rounding, which a number of elements is not.
    return real ? Apply(UnaryOp::kRound, number) : number;
  });
}

}  // namespace hone::op_histc
