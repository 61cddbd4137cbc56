#include "graph/op.h"

namespace hone {

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
    Expr value = Cast(parts.back()(full), ScalarTypeOf(dtype));
    for (std::size_t p = parts.size() - 1; p-- > 0;) {
      value = Select(LessEqual(at[static_cast<std::size_t>(dim)], static_cast<std::int64_t>(p)),
                     Cast(parts[p](full), ScalarTypeOf(dtype)), value);
    }
    return value;
  });
}

}  // namespace hone
