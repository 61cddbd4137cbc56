// How much a value varies when the inputs are drawn again and the parameters stay: the variance, in expectation over
// the parameters' own draws. A deep network whose weights are small forgets its input: each layer divides the variance,
// and in the end a constant is as good as the network.
//
// What is used: a sum over k of w[k] * x[k], with weights drawn independently around zero, has the variance
// E[w^2] * Sum over k of the variances of x[k], whatever the correlation of the x. A function that is nowhere steeper
// than L multiplies the deviation by L at most; max(x, 0) halves the variance where x is as likely as -x (it is when
// its weights are as likely as their negatives). The largest of some values varies no more than the most varying of
// them (of normal values, which sums of many terms nearly are). What is read where an input says varies as the elements
// there do. Everything else counts as unbounded.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "analysis/range.h"
#include "analysis/symbolic.h"
#include "graph/graph.h"

namespace hone {

struct Variance {
  double most = 0;  // of any element; infinite where nothing is known
  // Per piece of dimension `axis`, where pieces differ (concatenations): where a piece ends, and its variance.
  int axis = -1;
  std::vector<std::pair<std::int64_t, double>> pieces;
  // Parameters that, taken negative all at once, make the value negative and change nothing else.
  std::set<int> flips;
};

class Spread {
 public:
  // `depends[b]`: the tensors that buffer b depends on, as Dependence gives them.
  Spread(const Graph& graph, const Symbolic& symbolic, const std::vector<std::set<int>>& depends);
  void Define(std::size_t stage);  // in order, each once
  const Variance& Of(int buffer) const { return variances_[static_cast<std::size_t>(buffer)]; }

 private:
  friend class SpreadVisitor;
  const Graph* graph_;
  const Symbolic* symbolic_;
  const std::vector<std::set<int>>* depends_;
  std::vector<Variance> variances_;
};

}  // namespace hone
