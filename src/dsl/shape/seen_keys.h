// Which keys the score of attention can show, as its conditions on places say: a sequence has no more than its length,
// a window no more than its width. What lies outside need not be read: of a softmax where the score is -inf, else where
// it is 0.
#pragma once

#include <cstddef>
#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

// The key's place `of`, a whole number over the batch's dimensions, and `query` times that of the query: -1, 0 or 1.
struct KeyLimit {
  Expr of;
  int query = 0;
};
struct SeenKeys {
  std::vector<KeyLimit> from, end;  // keys that are seen are not before any of the one, and before all of the others
  // What hides keys is a number: where it hides all of them, all count, and have to be read.
  bool or_all = false;
  bool limited() const { return !from.empty() || !end.empty(); }
};
// Limits that are the same along the batch dimensions from `batches` on.
SeenKeys SeenKeysOf(const Kernel& kernel, std::size_t batches);

// How many pairs of a query and a key a batch has that are looked at, `causal` and what limits say without data.
double SeenPairs(const Kernel& kernel);

}  // namespace hone::dsl
