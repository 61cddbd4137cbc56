#include "graph/op.h"
#include "graph/parts.h"

namespace hone::op_cat {

HONE_OP(cat, "tensors one after another along dim") {
  std::vector<Operand> parts = call.Tensors("tensors");
  if (parts.size() > 1)
    std::erase_if(parts,
                  [](const Operand& x) { return x.shape() == Shape{0}; });  // torch lets the empty vector through
  if (parts.empty()) return call.Fail("needs at least one tensor");
  if (parts[0].rank() == 0) return call.Fail("needs tensors of at least one dimension");
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
    std::int64_t begin = 0;
    std::vector<std::int64_t> ends;
    std::vector<Expr> elements;
    for (const auto& part : parts) {
      std::vector<Expr> full(at.begin(), at.end());
      full[static_cast<std::size_t>(dim)] = at[static_cast<std::size_t>(dim)] - begin;
      elements.push_back(Cast(part(full), ScalarTypeOf(dtype)));
      ends.push_back(begin += part.dim(dim));
    }
    return ElementOfPart(at[static_cast<std::size_t>(dim)], ends, elements);
  });
}

}  // namespace hone::op_cat
