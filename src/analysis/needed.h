// How much of each buffer the outputs need: what analysis/cost.h counts with. Which elements they are is not known one
// by one, but how many, and how much of each dimension they reach.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/cost.h"
#include "graph/graph.h"

namespace hone {

// Some elements of a buffer.
struct Part {
  using Dimensions = std::uint64_t;  // bit d: dimension d is one of them

  double share = 0;  // of its elements
  // Of the places that some dimensions have together, the share at which there is an element, at least. Of others it is
  // `share`.
  std::map<Dimensions, double> reach;

  static Part All() { return {1, {}}; }
  void Add(const Part& other);  // as if both had none in common
};

// What a stage reads of each buffer in order to make `made` of its own: no more elements than there are, nor than the
// indices of its loads can name, nor fewer than the dimensions that `made` reaches ask for. What data choose is
// kWritten's alone: nobody knows how many differ. `replaced`: as ReplacedBy (analysis/updated.h) says, 0 of other
// stages; what is let by nobody has to read for that.
std::map<int, Part> PartsRead(const Graph& graph, const Stage& stage, const Part& made, Which which,
                              double replaced = 0);

// Of each buffer, what the outputs need.
std::vector<Part> PartsNeeded(const Graph& graph, Which which);

}  // namespace hone
