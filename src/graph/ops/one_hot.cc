#include "graph/op.h"

namespace hone::op_one_hot {

HONE_OP(one_hot, "1 at the class that self names, of num_classes; 0 elsewhere") {
  const Operand x = call.Tensor("self");
  const std::int64_t classes = call.Int("num_classes", -1);
  if (classes < 1) return call.Fail("needs num_classes: otherwise the shape of the result hangs on the data");
  Shape shape = x.shape();
  shape.push_back(classes);
  call.Output(shape, DType::kI64,
              [&](Indices at) { return Cast(Equal(x(at.first(at.size() - 1)), at.back()), ScalarType::kInt); });
}

}  // namespace hone::op_one_hot
