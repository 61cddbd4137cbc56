// Outputs that are written into an input: how much of them is other than it was.
#pragma once

#include <map>
#include <vector>

#include "analysis/cost.h"
#include "graph/graph.h"

namespace hone {

// Shares of elements, by buffer. None where such an output is made in another way than by stages each of which lets go
// by what it does not replace, since all of it may be other than it was. What data choose counts as all for kWritten,
// and as nothing else: nobody knows how many differ.
struct Replaced {
  std::map<int, double> by_stage;   // of what each stage makes
  std::map<int, double> by_output;  // of an output (of what it is a view of), by all of its stages
  double Of(int stage_buffer) const {
    const auto found = by_stage.find(stage_buffer);
    return found == by_stage.end() ? 0 : found->second;
  }
};
Replaced ReplacedBy(const Graph& graph, Which which);

// The load by which such a stage lets go by what it does not replace; a null load where its value is of another form.
struct LetBy {
  const ExprNode* load = nullptr;
  Expr replaced;  // the condition under which it is not that
};
LetBy LetByOf(const Graph& graph, const std::vector<IndexVar>& vars, const Expr& value);

}  // namespace hone
