// Which folds of a stage are places in a sorted row (expr/ranked_fold.h). By their definition each element is compared
// with all of its row; with the rows sorted before, each looks its place up. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "expr/expr.h"
#include "expr/ranked_fold.h"

namespace hone {

// For each place of `others`, indices of the result that the elements read, a row.
struct SortedRanks {
  RankedFold fold;
  std::vector<IndexVar> others;

  std::int64_t Rows() const;
  std::int64_t Count() const { return fold.along.extent; }  // of a row
};

struct StageRanks {
  std::vector<SortedRanks> ranks;
  std::map<const ExprNode*, std::size_t> folds;  // which of `ranks` each one is
};

// Of the folds in the value of a stage with the indices `vars`, apart from those in another fold; none that looks at
// fewer elements than `fewest_looks`.
StageRanks RanksOf(const std::vector<IndexVar>& vars, const Expr& value, std::int64_t fewest_looks);

}  // namespace hone
