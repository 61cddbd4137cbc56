#include "graph/random.h"

namespace hone::op_rand {

HONE_OP(rand, "uniform draws from [0, 1) of the shape size (graph/random.h)") {
  const Shape shape = call.Ints("size");
  call.Output(shape, call.Type("dtype", DType::kF32),
              [&](Indices at) { return DrawnUniform(call, Flatten(at, shape)); });
}

}  // namespace hone::op_rand
