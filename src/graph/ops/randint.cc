#include "graph/random.h"

namespace hone::op_randint {

HONE_OP(randint, "whole draws from [low, high) of the shape size (graph/random.h)") {
  const std::int64_t low = call.Int("low", 0), high = call.Int("high");
  const Shape shape = call.Ints("size");
  if (high <= low) return call.Fail("high has to be above low");
  call.Output(shape, call.Type("dtype", DType::kI64), [&](Indices at) {
    return Apply(BinaryOp::kFloorMod, DrawnBits(call, Flatten(at, shape)), high - low) + low;
  });
}

}  // namespace hone::op_randint
