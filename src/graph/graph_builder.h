// How a Graph comes to be: private to graph/ (Graph::Create, OpCall).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace hone {

class GraphBuilder {
 public:
  explicit GraphBuilder(Problem problem);
  Result<Graph> Build();

  int AddStage(std::string name, Shape shape, DType dtype, int node, std::vector<IndexVar> vars, Expr value,
               int reshape_of = -1);  // its buffer
  // A stage of a sequence, whose value is given afterwards.
  int AddStep(std::string name, Shape shape, DType dtype, int node, int sequence, int along, bool reversed);
  void DefineStep(int buffer, Expr value);
  int NewSequence() { return sequences_++; }
  const Stage& stage_of(int buffer) const;
  const Buffer& buffer(int id) const;
  int Value(const std::string& name) const;  // the buffer of a named value, -1 if there is none

 private:
  int AddBuffer(std::string name, Shape shape, DType dtype, int stage, int tensor);
  Result<void> Define(int node);
  Result<void> BindOutput(int tensor);
  Graph graph_;
  std::map<std::string, int> values_;
  int sequences_ = 0;
};

}  // namespace hone
