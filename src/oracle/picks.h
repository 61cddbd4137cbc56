// What an index that rounding decides has to be: the place of a value that is as good as that of the place that the
// definitions name. Of those who find a largest or sort, each may be right with another place. So may they of equal
// elements where PyTorch promises no order among these (Stage::any_of_equals).
#pragma once

#include <cstddef>
#include <optional>

#include "graph/graph.h"

namespace hone {

// Of an output of places, that a largest or smallest has (argmax, a maximum's window) or that come in an order (sort,
// topk): the graph with two more inputs, the places that somebody gave, of the output's type, and those that are
// expected, in f64; and with one output alone, of its shape: how far the value at the given place is from that at the
// expected one, infinite where it is no place of that fold, or of an order is given more than once. Nothing for other
// outputs.
enum class OfEquals { kExpected, kAny };
struct Picks {
  Graph graph;
  OfEquals of_equals = OfEquals::kExpected;
};
std::optional<Picks> WithPicks(const Graph& graph, std::size_t output);

// Whether an output is a scan's, whose places may differ from anybody's in whole stretches: no rule for them is known.
bool IsOfScan(const Graph& graph, std::size_t output);

}  // namespace hone
