// Which folds of a stage are taken from lists. A fold that takes only the terms whose keys are the result's indices
// (expr/keyed_fold.h) looks at all terms for each result; with the terms listed by their keys before, each result
// looks at those of its own list. The definition of a term stays as it is, and is zero, or whatever else changes
// nothing, where it is passed over. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace hone {

// For each place of `others`, indices of the result that the keys read, a list for each place of the indices that they
// are compared with: in it, in order, the terms of `over` whose keys are those. A term whose key is no such index is in
// none. One more list is of the terms whose keys hang on rounding, which each result may take.
struct KeyLists {
  struct Key {
    Expr key;
    IndexVar index;
  };
  std::vector<Key> keys;
  std::vector<IndexVar> over, others;
  Expr guard;  // of `over` and `others`: where it does not hold there are no keys to read. Nothing if it always holds
  bool exact = true;  // whether no key hangs on rounding: the one list more is empty then, and not there

  std::int64_t Others() const;
  std::int64_t ListsOfEach() const;  // of one place of `others`, but for the one more
  std::int64_t AllListsOfEach() const { return ListsOfEach() + (exact ? 0 : 1); }
  std::int64_t Terms() const;                                         // that they share out
  std::int64_t Entries() const { return Terms() * (exact ? 1 : 2); }  // of them in all lists of a place, at most
};

struct ListedFold {
  std::size_t lists = 0;  // which of StageLists::lists
  Expr start;             // what a fold of fewer than all terms begins with; nothing if with the fold's own identity
};

struct StageLists {
  std::vector<KeyLists> lists;
  std::map<const ExprNode*, ListedFold> folds;
};

// From so many looks at terms on, the lists of a stage are worth being made: some 50 ms of one thread of the host.
inline constexpr std::int64_t kLooksWorthLists = std::int64_t{1} << 24;

// Of the folds in the value of a stage with the indices `vars`, apart from those in another fold. `exact` says what
// carries no rounding.
StageLists ListsOf(const std::vector<IndexVar>& vars, const Expr& value, const std::function<bool(const Expr&)>& exact,
                   std::int64_t fewest_looks);

}  // namespace hone
