// Nests that count what comes before each element of a row, as sorting does (expr/ranked_fold.h).
#pragma once

#include <optional>

#include "dsl/element.h"
#include "expr/ranked_fold.h"

namespace hone::dsl {

// The nest's element and the one fold in it, which is a place in order; nothing if it is another nest.
struct RankedNest {
  FlatElement element;  // the fold's value is kIt
  RankedFold fold;
};
std::optional<RankedNest> RankedFoldIn(const Kernel& kernel);
// Whether sorting is less work than all elements' looks at their whole rows.
bool RanksPay(const Kernel& kernel);

}  // namespace hone::dsl
