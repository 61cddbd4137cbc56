#include "graph/parts.h"

#include <algorithm>

namespace hone {

void OutputParts(OpCall& call, const Operand& x, int dim, const std::vector<std::int64_t>& sizes) {
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  std::int64_t begin = 0;
  for (const auto size : sizes) begin += size < 0 ? x.dim(dim) + 1 : size;
  if (begin != x.dim(dim)) return call.Fail("the sizes do not add up to the extent of the dimension");
  begin = 0;
  for (const auto size : sizes) {
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(dim)] = size;
    call.Output(shape, x.dtype(),
                [&](Indices at) { return x(Replaced(at, dim, at[static_cast<std::size_t>(dim)] + begin)); });
    begin += size;
  }
}

namespace {

constexpr std::size_t kFewParts = 8;

Expr Choose(const Expr& at, const std::vector<std::int64_t>& ends, const std::vector<Expr>& elements, std::size_t first,
            std::size_t last) {
  if (first + 1 == last) return elements[first];
  const std::size_t middle = last - first <= kFewParts ? first + 1 : first + (last - first) / 2;
  return Select(LessEqual(ends[middle - 1], at), Choose(at, ends, elements, middle, last),
                Choose(at, ends, elements, first, middle));
}

}  // namespace

Expr ElementOfPart(const Expr& at, const std::vector<std::int64_t>& ends, const std::vector<Expr>& elements) {
  return Choose(at, ends, elements, 0, elements.size());
}

std::vector<std::int64_t> EvenParts(std::int64_t extent, std::int64_t each) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t at = 0; at < extent; at += std::max<std::int64_t>(each, 1))
    sizes.push_back(std::min(std::max<std::int64_t>(each, 1), extent - at));
  return sizes;
}

}  // namespace hone
