#include "graph/op.h"

namespace hone {

HONE_OP(cat, "tensors one after another along dim") {
  std::vector<Operand> parts = call.Tensors("tensors");
  if (parts.size() > 1)
    std::erase_if(parts,
                  [](const Operand& x) { return x.shape() == Shape{0}; });  // torch lets the empty vector through
  if (parts.empty()) return call.Fail("needs at least one tensor");
  const int dim = call.Dim("dim", parts[0].rank(), 0);
  Shape shape = parts[0].shape();
  DType dtype = parts[0].dtype();
  for (std::size_t p = 1; p < parts.size(); ++p) {
    Shape rest = parts[p].shape();
    if (rest.size() != shape.size()) return call.Fail("the tensors have different numbers of dimensions");
    rest[static_cast<std::size_t>(dim)] = shape[static_cast<std::size_t>(dim)];
    if (rest != shape) return call.Fail(ToString(parts[p].shape()) + " does not fit behind " + ToString(shape));
    shape[static_cast<std::size_t>(dim)] += parts[p].dim(dim);
    dtype = Promote(dtype, parts[p].dtype());
  }
  call.Output(shape, dtype, [&](Indices at) {
    // From the last part backwards: at < begin of the part -> the parts before it.
    std::int64_t end = shape[static_cast<std::size_t>(dim)];
    Expr value;
    for (std::size_t p = parts.size(); p-- > 0;) {
      const std::int64_t begin = end - parts[p].dim(dim);
      std::vector<Expr> full(at.begin(), at.end());
      full[static_cast<std::size_t>(dim)] = at[static_cast<std::size_t>(dim)] - begin;
      const Expr element = Cast(parts[p](full), ScalarTypeOf(dtype));
      value = value ? Select(LessEqual(end, at[static_cast<std::size_t>(dim)]), value, element) : element;
      end = begin;
    }
    return value;
  });
}

}  // namespace hone
