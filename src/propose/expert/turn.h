// Factors that the steps of a sequence read across: a recurrent layer's weights.
#pragma once

#include <vector>

#include "dsl/program.h"
#include "propose/expert/names.h"

namespace hone::expert {

// Where a step sums over products with w[k, l], k being its last index and l the summed one, lets it read the transpose
// of w instead, so that many sums grow side by side: every step reads all of w, and it is turned once. Gives the
// statements that turn, to stand before the steps.
std::vector<dsl::Statement> TurnFactors(Names& names, std::vector<dsl::Statement>& steps);

}  // namespace hone::expert
