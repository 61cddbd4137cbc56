#include "graph/random.h"

namespace hone::op_randn {

HONE_OP(randn, "normal draws of the shape size (graph/random.h)") {
  const Shape shape = call.Ints("size");
  call.Output(shape, call.Type("dtype", DType::kF32),
              [&](Indices at) { return DrawnNormal(call, Flatten(at, shape)); });
}

}  // namespace hone::op_randn
