// Parts of a tensor along one dimension: what split, split_with_sizes and chunk share, and cat and stack.
#pragma once

#include "graph/op.h"

namespace hone {

// One output a part: x from where the part before ended, `sizes[i]` long. They have to add up to the extent.
void OutputParts(OpCall& call, const Operand& x, int dim, const std::vector<std::int64_t>& sizes);
// The sizes of parts of `each` elements, the last one what is left.
std::vector<std::int64_t> EvenParts(std::int64_t extent, std::int64_t each);
// elements[p] for the first p with at < ends[p]; the last one for what lies behind. A chain of choices where the parts
// are few, a tree of them where they are many.
Expr ElementOfPart(const Expr& at, const std::vector<std::int64_t>& ends, const std::vector<Expr>& elements);

}  // namespace hone
