#include "graph/parts.h"

namespace hone::op_split {

HONE_OP(split, "parts of self along dim, of split_size each (or of the sizes in a list); the last one may be smaller") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), 0);
  // Of the two forms, either name has been seen with either argument.
  const auto given = call.Ints(call.Has("split_sizes") ? "split_sizes" : "split_size");
  if (call.Has("split_sizes") || call.overload() == "sizes") return OutputParts(call, x, dim, given);
  if (given.size() != 1 || (given[0] < 1 && x.dim(dim) > 0)) return call.Fail("split_size has to be positive");
  auto sizes = EvenParts(x.dim(dim), given[0]);
  if (sizes.empty()) sizes.push_back(0);
  OutputParts(call, x, dim, sizes);
}

}  // namespace hone::op_split
