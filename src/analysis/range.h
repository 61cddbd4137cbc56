// Between which numbers the elements of a buffer lie, given how the problem draws its inputs. Where inputs are normal,
// or where a sum of many independent draws is told from its mean, the bounds hold with all but a vanishing probability
// (kDeviations standard deviations) and not for certain.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/interval.h"
#include "analysis/symbolic.h"
#include "graph/graph.h"

namespace hone {

// One draw in 10^15 lies further out than 8 standard deviations.
inline constexpr double kDeviations = 8;

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

// What types and definitions alone say of a graph's buffers, and of expressions over them. Of inputs of more than 16
// bits, whole numbers are counted on to be those that the problem draws, as places and lengths are. Not thread-safe.
class DefinedRanges : public RangeReader {
 public:
  explicit DefinedRanges(const Graph& graph) : graph_(&graph) {}
  using RangeReader::Of;
  Range Of(int buffer);

 protected:
  Range OfLoad(const ExprNode& load) override { return Of(load.buffer); }
  Range OfReduce(const Expr& e) override;

 private:
  static constexpr int kDeepest = 64;  // definitions of definitions; further down types alone count
  Range Worked(const Buffer& buffer);
  std::optional<Range> OfSteps(const Stage& stage);

  const Graph* graph_;
  int depth_ = 0;
  std::unordered_map<int, Range> ranges_;
};

}  // namespace hone
