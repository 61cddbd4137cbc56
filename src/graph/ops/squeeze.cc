#include <algorithm>

#include "graph/op.h"

namespace hone::op_squeeze {

HONE_OP(squeeze, "dimensions of extent 1 removed: all of them, or those of dim") {
  const Operand x = call.Tensor("self");
  const bool none = call.Has("dim") && call.Ints("dim").empty();
  const auto dims = none ? std::vector<int>{} : call.Dims("dim", x.rank());
  Shape shape;
  for (int d = 0; d < x.rank(); ++d) {
    const bool named = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!(named && x.dim(d) == 1)) shape.push_back(x.dim(d));
  }
  call.Output(call.Reshape(x, shape));
}

}  // namespace hone::op_squeeze
