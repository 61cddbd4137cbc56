// How a Graph comes to be: private to graph/ (Graph::Create, OpCall, Trimmed, WithoutZeroTerms, WithPicks,
// WithExactWholes).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace hone {

class GraphBuilder {
 public:
  explicit GraphBuilder(Problem problem);
  Result<Graph> Build();

  // More of a graph that is made: its inputs and outputs come behind those that it has.
  explicit GraphBuilder(Graph graph) : graph_(std::move(graph)) {}
  int AddInput(Tensor tensor);  // its buffer
  void AddOutput(Tensor tensor, std::vector<IndexVar> vars, Expr value);
  void DropOutputs();  // what only they need is not live any more
  Graph Take() { return std::move(graph_); }

  int AddStage(std::string name, Shape shape, DType dtype, int node, std::vector<IndexVar> vars, Expr value,
               int reshape_of = -1);  // its buffer
  // A stage of a sequence, whose value is given afterwards.
  int AddStep(std::string name, Shape shape, DType dtype, int node, int sequence, int along, bool reversed);
  void DefineStep(int buffer, Expr value);
  void AllowAnyOfEquals(int buffer);
  // A stage's buffer in another shape, of which this is the element; one that nobody reads any more, which then reads
  // nothing itself.
  void Redefine(int buffer, std::vector<IndexVar> vars, Expr value);
  void Forget(int buffer);
  int NewSequence() { return sequences_++; }
  const Stage& stage_of(int buffer) const;
  const Buffer& buffer(int id) const;
  int Value(const std::string& name) const;  // the buffer of a named value, -1 if there is none

 private:
  int AddBuffer(std::string name, Shape shape, DType dtype, int stage, int tensor);
  Result<void> Define(int node);
  Result<void> CheckArguments(const class OpCall& call) const;  // that its operator asked for all that are given
  Result<void> BindOutput(int tensor);
  Graph graph_;
  std::map<std::string, int> values_;
  int sequences_ = 0;
};

}  // namespace hone
