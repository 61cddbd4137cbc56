// Sorting as counting: an element's place is the number of those that come before it. Of equals the first stays first,
// and a NaN is larger than all numbers.
#pragma once

#include "graph/op.h"

namespace hone {

// Which of equal elements comes first: the first one, or nobody says.
enum class Equals { kInOrder, kInAnyOrder };

// The first `count` places of the order of x along `dim`: the index of the element at each of them, of x's shape with
// `count` along dim.
Operand OrderOf(OpCall& call, const Operand& x, int dim, bool descending, std::int64_t count, Equals equals);
// Outputs the elements in order along dim, then where they were.
void OutputOrdered(OpCall& call, const Operand& x, int dim, bool descending, std::int64_t count, Equals equals);

}  // namespace hone
