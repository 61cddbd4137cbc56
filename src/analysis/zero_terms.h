// Sums without the terms that are zero because of where they lie: of rows that were padded before they are transformed,
// of a spectrum of which but the first places were filled in.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace hone {

// The same outputs. A term goes where one factor is zero by the definitions and the others are finite numbers by them,
// whatever the inputs are: zero times an infinity is none. Nothing where no sum has terms to lose, a tenth of them at
// least. Buffers keep their shapes: what nobody reads then is for graph/trimmed.h.
std::optional<Graph> WithoutZeroTerms(const Graph& graph);

}  // namespace hone
