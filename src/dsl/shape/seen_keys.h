// Which keys the score of attention can show, as its conditions on places say: a sequence has no more than its length,
// a window no more than its width. What lies outside need not be read: of a softmax where the score is -inf, else where
// it is 0.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Conditions that say no more than limits do: between those they hold, or do not.
  struct Said {
    Expr condition;
    bool holds = true;
  };
  std::vector<Said> said;
  // Whole numbers that a query and a key have to have alike, the one over the batch's dimensions and the query's, the
  // other over the batch's and the key's: of their documents, where several are packed into one sequence.
  struct Alike {
    Expr condition, query, key;
  };
  std::vector<Alike> alike;  // of a softmax whose scores are hidden by -inf
  // What hides keys is a number: where it hides all of them, all count, and have to be read.
  bool or_all = false;
  bool limited() const { return !from.empty() || !end.empty(); }
};
// Limits that are the same along the batch dimensions from `batches` on.
SeenKeys SeenKeysOf(const Kernel& kernel, std::size_t batches);

// `score` where the truth of `within`, that a key is between all limits, stands for the conditions that say those: the
// score itself where none does.
Expr ScoreWithin(const SeenKeys& seen, const Expr& score, const Expr& within);

// The same with `within` for the truth of the first of what has to be alike.
Expr ScoreAlike(const SeenKeys& seen, const Expr& score, const Expr& within);

// The keys [from, end) that `causal` and what limits say without data leave of those that the queries [first, last]
// see.
struct KeyRange {
  std::int64_t from = 0, end = 0;
};
KeyRange KeysOfQueries(const Kernel& kernel, const SeenKeys& seen, std::int64_t first, std::int64_t last);
// How many pairs of a query and a key a batch has that are looked at, `causal` and what limits say without data.
double SeenPairs(const Kernel& kernel);

}  // namespace hone::dsl
