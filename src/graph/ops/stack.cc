#include "graph/op.h"
#include "graph/parts.h"

namespace hone::op_stack {

HONE_OP(stack, "tensors side by side along a new dimension dim") {
  const std::vector<Operand> parts = call.Tensors("tensors");
  if (parts.empty()) return call.Fail("needs at least one tensor");
  const int dim = call.WrapDim(call.Int("dim", 0), parts[0].rank() + 1);
  DType dtype = parts[0].dtype();
  for (const auto& part : parts) {
    if (part.shape() != parts[0].shape()) return call.Fail("the tensors have different shapes");
    dtype = Promote(dtype, part.dtype());
  }
  Shape shape = parts[0].shape();
  shape.insert(shape.begin() + dim, static_cast<std::int64_t>(parts.size()));
  call.Output(shape, dtype, [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    full.erase(full.begin() + dim);
    std::vector<std::int64_t> ends;
    std::vector<Expr> elements;
    for (const auto& part : parts) {
      elements.push_back(Cast(part(full), ScalarTypeOf(dtype)));
      ends.push_back(static_cast<std::int64_t>(elements.size()));
    }
    return ElementOfPart(at[static_cast<std::size_t>(dim)], ends, elements);
  });
}

}  // namespace hone::op_stack
