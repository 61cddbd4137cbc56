// A Graph: a problem's operators, typed and defined. Each node's op (graph/ops/, one file each) says what one element
// of its results is; Graph::Create runs them in order and keeps the stages, so that everything behind it (oracle,
// bound, expert) works on element definitions and never asks which op it was. Immutable once made; safe to read from
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "problem/problem.h"

namespace hone {

// Where values live: an input, a parameter, or what a stage makes.
struct Buffer {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  int stage = -1;   // the stage that writes it; -1 for an input or parameter
  int tensor = -1;  // the index in Problem::tensors of the input, parameter or output that it is, or -1
};

// buffer[vars...] = value, for all values of vars: a loop nest, all of whose elements are independent.
//
// Scans and recurrences are sequences: consecutive stages with the same number `sequence` that run in lockstep,
//
//   for t = 0 .. T - 1 (T - 1 .. 0 if reversed): for each stage of the sequence: its nest with vars[along] = t
//
// where T is the extent of each one's vars[along]. Within a step elements are independent. A value may load an earlier
// stage of its sequence at t, and any of them, itself too, at the step before: at t - 1 (t + 1 if reversed) in a
// Select(t == first step, initial, load), so that nothing is read before it is made.
struct Stage {
  int buffer = -1;
  int node = -1;               // of Graph::problem().nodes
  std::vector<IndexVar> vars;  // one a dimension of the buffer
  Expr value;
  int reshape_of =
      -1;  // the buffer whose elements these are in the same row-major order: costs nothing but a name; -1 otherwise
  int sequence = -1;           // the number of its sequence, -1 if it is in none
  int along = 0;               // in a sequence: which of vars is the step
  bool reversed = false;       // in a sequence: from the last step to the first; all of a sequence agree
  bool any_of_equals = false;  // these are places of elements, of which the place of an equal one is as right
};

class Graph {
 public:
  // Fails with kUsage and a line that names the node and the argument when the problem is not one that hone can define.
  static Result<Graph> Create(Problem problem);

  const Problem& problem() const { return problem_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<Stage>& stages() const { return stages_; }  // in an order in which they can run
  int Output(std::size_t i) const { return outputs_[i]; }       // the buffer of the i-th output tensor
  // What a node makes: shape and type by value name, for listings. Buffer ids in the order of Node::outputs.
  const std::vector<std::vector<int>>& node_outputs() const { return node_outputs_; }

 private:
  friend class GraphBuilder;
  Graph() = default;
  Problem problem_;
  std::vector<Buffer> buffers_;
  std::vector<Stage> stages_;
  std::vector<int> outputs_;
  std::vector<std::vector<int>> node_outputs_;
};

// The end of the run of stages that `stage` begins: of its whole sequence, or stage + 1.
std::size_t SequenceEnd(const Graph& graph, std::size_t stage);

// The buffer whose elements these are: a reshape is another name for them.
int SourceOf(const Graph& graph, int buffer);

// Which stages the outputs need, by index: an operator's unused results need not be computed. A sequence lives or dies
// as one.
std::vector<bool> LiveStages(const Graph& graph);

}  // namespace hone
