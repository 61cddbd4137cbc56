// Places among sorted numbers: what searchsorted and bucketize share.
#pragma once

#include <string_view>

#include "graph/op.h"

namespace hone {

// The output of `call`: how many of the sorted numbers, the argument `sorted_name`, lie below each element of self, or
// not above it if right. Sorted numbers of more than one dimension are a row for each row of self.
void CountBelow(OpCall& call, std::string_view sorted_name);

}  // namespace hone
