// A graph without the elements that nobody reads: the logits of all but the last token, the rows of a last layer that
// a classifier does not look at, places of a spectrum that are cut off.
#pragma once

#include <optional>

#include "graph/graph.h"

namespace hone {

// The same outputs, whose stages make of each dimension what is read of it: from a first place to a last, and every so
// many. A buffer that was seen in other shapes, too, is then seen in that which tells most places apart. Stages keep
// their order and buffers their numbers; those of reshapes that are left over are live no more. Sequences are left as
// they are, and what loses less than a tenth. Nothing where nothing can go.
std::optional<Graph> Trimmed(const Graph& graph);

}  // namespace hone
