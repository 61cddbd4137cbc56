// Between which numbers the elements of a buffer lie, given how the problem draws its inputs. Where inputs are normal,
// or where a sum of many independent draws is told from its mean, the bounds hold with all but a vanishing probability
// (kDeviations standard deviations) and not for certain.
#pragma once

#include <optional>
#include <vector>

#include "analysis/symbolic.h"
#include "expr/expr.h"
#include "graph/graph.h"

namespace hone {

// One draw in 10^15 lies further out than 8 standard deviations.
inline constexpr double kDeviations = 8;

struct Range {
  double low, high;                                   // infinite where unknown
  bool maybe_nan = true;                              // some element may be NaN
  bool nan = false;                                   // all are
  bool point() const { return low == high && !nan; }  // one number, where it is a number at all
};

Range RangeOfInput(const Tensor& tensor);

class Ranges {
 public:
  Ranges(const Graph& graph, const Symbolic& symbolic);
  // Works out one stage; in order, each once, after Symbolic::Define of it.
  const Range& Define(std::size_t stage);
  const Range& Of(int buffer) const { return ranges_[static_cast<std::size_t>(buffer)]; }

 private:
  friend class RangeVisitor;
  const Graph* graph_;
  const Symbolic* symbolic_;
  std::vector<Range> ranges_;  // by buffer
};

}  // namespace hone
