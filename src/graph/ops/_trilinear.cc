#include <algorithm>

#include "graph/op.h"

namespace hone::op__trilinear {

HONE_OP(_trilinear, "i1 * i2 * i3 with new dimensions at expand1, expand2 and expand3, summed over sumdim") {
  call.Ignore({"unroll_dim"});
  const Operand operands[] = {call.Tensor("i1"), call.Tensor("i2"), call.Tensor("i3")};
  const std::vector<std::int64_t> expands[] = {call.Ints("expand1"), call.Ints("expand2"), call.Ints("expand3")};
  const int rank = operands[0].rank() + static_cast<int>(expands[0].size());
  // Which dimension of an operand each of all is, none where it is new.
  std::vector<int> own[3];
  Shape all(static_cast<std::size_t>(rank), 1);
  for (int i = 0; i < 3; ++i) {
    if (operands[i].rank() + static_cast<int>(expands[i].size()) != rank)
      return call.Fail("needs three tensors of as many dimensions with those of expand1, expand2 and expand3");
    int dim = 0;
    for (int d = 0; d < rank; ++d) {
      const bool is_new = std::find(expands[i].begin(), expands[i].end(), d) != expands[i].end();
      own[i].push_back(is_new || dim == operands[i].rank() ? -1 : dim++);
      if (own[i].back() < 0) continue;
      std::int64_t& extent = all[static_cast<std::size_t>(d)];
      const std::int64_t mine = operands[i].dim(own[i].back());
      if (mine != 1 && extent != 1 && mine != extent) return call.Fail("the dimensions of the three do not broadcast");
      extent = std::max(extent, mine);
    }
  }
  Shape shape;
  std::vector<std::int64_t> over;
  std::vector<bool> summed(static_cast<std::size_t>(rank), false);
  for (const std::int64_t d : call.Ints("sumdim")) summed[static_cast<std::size_t>(call.WrapDim(d, rank))] = true;
  for (std::size_t d = 0; d < all.size(); ++d) (summed[d] ? over : shape).push_back(all[d]);
  call.Output(shape, call.CommonType({"i1", "i2", "i3"}), [&](Indices at) {
    const auto term = [&](Indices k) {
      Expr product;
      for (int i = 0; i < 3; ++i) {
        std::vector<Expr> place;
        std::size_t kept = 0, folded = 0;
        for (std::size_t d = 0; d < all.size(); ++d) {
          const Expr index = summed[d] ? k[folded++] : at[kept++];
          if (own[i][d] >= 0) place.push_back(operands[i].dim(own[i][d]) == 1 ? Expr(std::int64_t{0}) : index);
        }
        const Expr element = operands[i](place);
        product = product ? product * element : element;
      }
      return product;
    };
    return over.empty() ? term({}) : Fold(ReduceOp::kSum, over, term);
  });
}

}  // namespace hone::op__trilinear
