#include "graph/padding.h"

namespace hone {

void DefineEdgePadding(OpCall& call, EdgePadding how, int spatial) {
  const Operand x = call.Tensor("self");
  const auto padding = call.Ints("padding");
  if (x.rank() < spatial || static_cast<int>(padding.size()) != 2 * spatial)
    return call.Fail("padding has to hold two numbers for each of the last dimensions");
  Shape shape = x.shape();
  std::vector<std::int64_t> before(shape.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(spatial); ++i) {
    const std::size_t d = shape.size() - 1 - i;
    const std::int64_t low = padding[2 * i], high = padding[2 * i + 1];
    if (how == EdgePadding::kReflect && (low >= shape[d] || high >= shape[d]))
      return call.Fail("the padding is larger than what is mirrored");
    if (shape[d] < 1) return call.Fail("there is nothing at the edge");
    before[d] = low;
    shape[d] += low + high;
  }
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    for (std::size_t d = 0; d < full.size(); ++d) {
      const std::int64_t last = x.shape()[d] - 1;
      if (shape[d] == x.shape()[d] && before[d] == 0) continue;
      Expr place = at[d] - before[d];
      if (how == EdgePadding::kReplicate) {
        full[d] = Max(Min(place, last), 0);
        continue;
      }
      if (before[d] > 0) place = Select(Less(place, 0), -place, place);
      if (shape[d] - before[d] > last + 1) place = Select(Less(last, place), Expr(2 * last) - place, place);
      full[d] = place;
    }
    return x(full);
  });
}

}  // namespace hone
