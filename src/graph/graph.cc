#include "graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/check.h"
#include "base/text.h"
#include "graph/graph_builder.h"
#include "graph/op.h"

namespace hone {

namespace {

// ", model.py:8": where the file that was imported calls it; nothing where nobody kept that.
std::string LineOf(const Problem& problem, int node) {
  const auto lines = problem.provenance.find("lines"), source = problem.provenance.find("source");
  if (lines == problem.provenance.end() || source == problem.provenance.end()) return "";
  std::istringstream numbers(lines->second);
  int line = 0;
  for (int i = 0; i <= node; ++i) numbers >> line;
  if (!numbers || line <= 0) return "";
  return fmt::format(", {}:{}", source->second.substr(source->second.rfind('/') + 1), line);
}

// "/graph/1 (aten.exp, model.py:8)", or of one of its arguments.
std::string PlaceOf(const Problem& problem, int node, std::string_view argument = {}) {
  const std::string under = argument.empty() ? "" : fmt::format("/args/{}", argument);
  return fmt::format("/graph/{}{} ({}{})", node, under, problem.nodes[static_cast<std::size_t>(node)].op,
                     LineOf(problem, node));
}

// What many schemas have and no element depends on: where and how memory is laid out, how a kernel goes about it, and
// what only training needs.
constexpr std::string_view kMeansNothing[] = {
    "cudnn_enable", "cudnn_enabled",      "device",   "generator",    "implicit",
    "layout",       "memory_format",      "momentum", "non_blocking", "padding_idx",
    "pin_memory",   "scale_grad_by_freq", "sparse",   "sparse_grad",  "stable",
};

}  // namespace

GraphBuilder::GraphBuilder(Problem problem) { graph_.problem_ = std::move(problem); }

int GraphBuilder::AddBuffer(std::string name, Shape shape, DType dtype, int stage, int tensor) {
  graph_.buffers_.push_back({std::move(name), std::move(shape), dtype, stage, tensor});
  return static_cast<int>(graph_.buffers_.size()) - 1;
}

int GraphBuilder::AddInput(Tensor tensor) {
  auto& tensors = graph_.problem_.tensors;
  tensors.push_back(std::move(tensor));
  const Tensor& added = tensors.back();
  return AddBuffer(added.name, added.shape, added.dtype, -1, static_cast<int>(tensors.size()) - 1);
}

void GraphBuilder::AddOutput(Tensor tensor, std::vector<IndexVar> vars, Expr value) {
  const int buffer = AddStage(tensor.name, tensor.shape, tensor.dtype, -1, std::move(vars), std::move(value));
  auto& tensors = graph_.problem_.tensors;
  graph_.buffers_[static_cast<std::size_t>(buffer)].tensor = static_cast<int>(tensors.size());
  tensors.push_back(std::move(tensor));
  graph_.outputs_.push_back(buffer);
}

void GraphBuilder::DropOutputs() {
  auto& tensors = graph_.problem_.tensors;
  std::vector<Tensor> kept;
  std::vector<int> now(tensors.size(), -1);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role == Role::kOutput) continue;
    now[i] = static_cast<int>(kept.size());
    kept.push_back(std::move(tensors[i]));
  }
  tensors = std::move(kept);
  for (Buffer& buffer : graph_.buffers_) {
    if (buffer.tensor >= 0) buffer.tensor = now[static_cast<std::size_t>(buffer.tensor)];
  }
  graph_.outputs_.clear();
}

int GraphBuilder::AddStage(std::string name, Shape shape, DType dtype, int node, std::vector<IndexVar> vars, Expr value,
                           int reshape_of) {
  const int stage = static_cast<int>(graph_.stages_.size());
  const int buffer = AddBuffer(std::move(name), std::move(shape), dtype, stage, -1);
  graph_.stages_.push_back({buffer, node, std::move(vars), std::move(value), reshape_of});
  return buffer;
}

int GraphBuilder::AddStep(std::string name, Shape shape, DType dtype, int node, int sequence, int along,
                          bool reversed) {
  std::vector<IndexVar> vars;
  for (const auto extent : shape) vars.push_back(NewIndex(extent));
  const int made = AddStage(std::move(name), std::move(shape), dtype, node, std::move(vars), Expr());
  Stage& stage = graph_.stages_.back();
  stage.sequence = sequence;
  stage.along = along;
  stage.reversed = reversed;
  return made;
}

void GraphBuilder::DefineStep(int buffer, Expr value) {
  graph_.stages_[static_cast<std::size_t>(this->buffer(buffer).stage)].value = std::move(value);
}

void GraphBuilder::AllowAnyOfEquals(int buffer) {
  const int stage = this->buffer(buffer).stage;
  if (stage >= 0) graph_.stages_[static_cast<std::size_t>(stage)].any_of_equals = true;
}

void GraphBuilder::Redefine(int buffer, std::vector<IndexVar> vars, Expr value) {
  Buffer& made = graph_.buffers_[static_cast<std::size_t>(buffer)];
  Stage& stage = graph_.stages_[static_cast<std::size_t>(made.stage)];
  made.shape.clear();
  for (const IndexVar& var : vars) made.shape.push_back(var.extent);
  stage.vars = std::move(vars);
  stage.value = std::move(value);
}

void GraphBuilder::Forget(int buffer) {
  Stage& stage = graph_.stages_[static_cast<std::size_t>(this->buffer(buffer).stage)];
  stage.value = Cast(0, stage.value->type);
  stage.reshape_of = -1;
}

const Stage& GraphBuilder::stage_of(int buffer) const {
  return graph_.stages_[static_cast<std::size_t>(this->buffer(buffer).stage)];
}

const Buffer& GraphBuilder::buffer(int id) const { return graph_.buffers_[static_cast<std::size_t>(id)]; }

int GraphBuilder::Value(const std::string& name) const {
  const auto it = values_.find(name);
  return it == values_.end() ? -1 : it->second;
}

Result<Graph> GraphBuilder::Build() {
  const Problem& problem = graph_.problem_;
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[i];
    if (tensor.role == Role::kOutput) continue;
    values_[tensor.name] = AddBuffer(tensor.name, tensor.shape, tensor.dtype, -1, static_cast<int>(i));
  }
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) HONE_TRY(Define(static_cast<int>(i)));
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const Tensor& tensor = problem.tensors[i];
    if (tensor.role != Role::kOutput) continue;
    HONE_TRY(BindOutput(static_cast<int>(i)));
  }
  return std::move(graph_);
}

Result<void> GraphBuilder::Define(int index) {
  const Node& node = graph_.problem_.nodes[static_cast<std::size_t>(index)];
  const Op* op = FindOp(node.op);
  const auto where = [&] { return PlaceOf(graph_.problem_, index); };  // reads as many lines as there are nodes
  if (!op)
    return Fail(
        ErrorKind::kUsage,
        fmt::format("{}: hone does not know this operator; `hone graph --ops` lists those that it does", where()));
  OpCall call(*this, node, index);
  const std::size_t before = graph_.stages_.size();
  op->define(call);
  for (std::size_t s = before; s < graph_.stages_.size(); ++s) {
    const Stage& stage = graph_.stages_[s];
    HONE_CHECK(stage.value || !call.error_.empty(), "a step of a sequence without a definition");
    if (!stage.value) continue;
    const std::size_t end = SequenceEnd(graph_, s);
    Visit(stage.value, [&](const ExprNode& part) {
      HONE_CHECK(part.kind != Expr::Kind::kLoad || buffer(part.buffer).stage < static_cast<int>(end),
                 "an element reads what is made later");
      if (part.kind != Expr::Kind::kLoad) return;
      for (const Expr& at : part.operands) {
        if (at->type != ScalarType::kInt) call.Fail("indices have to be whole numbers (i64, i32): cast them first");
      }
    });
  }
  if (!call.error_.empty()) return Fail(ErrorKind::kUsage, fmt::format("{}: {}", where(), call.error_));
  HONE_TRY(CheckArguments(call));
  if (call.results_.size() < node.outputs.size()) {
    return Fail(ErrorKind::kUsage, fmt::format("{}: makes {} results but {} are named", where(), call.results_.size(),
                                               node.outputs.size()));
  }
  graph_.node_outputs_.emplace_back();
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    graph_.node_outputs_.back().push_back(call.results_[i]);
    if (node.outputs[i].empty()) continue;
    values_[node.outputs[i]] = call.results_[i];
    Buffer& made = graph_.buffers_[static_cast<std::size_t>(call.results_[i])];
    if (made.stage >= 0 && graph_.stages_[static_cast<std::size_t>(made.stage)].node == index)
      made.name = node.outputs[i];
  }
  return {};
}

Result<void> GraphBuilder::CheckArguments(const OpCall& call) const {
  // What was traced has the arguments that PyTorch knows, and a definition need not ask for one that decides nothing.
  if (graph_.problem_.provenance.contains("importer")) return {};
  for (const auto& [name, value] : call.node_.arguments) {
    const bool absent = std::holds_alternative<std::monostate>(value.value);
    if (absent || call.asked_.contains(name) || std::ranges::find(kMeansNothing, name) != std::end(kMeansNothing))
      continue;
    const std::vector<std::string_view> known(call.asked_.begin(), call.asked_.end());
    std::string mend = DidYouMean(name, known);
    if (mend.empty()) mend = fmt::format("; there are {}", fmt::join(known, ", "));
    return Fail(ErrorKind::kUsage, fmt::format("{}: the operator has no such argument{}",
                                               PlaceOf(graph_.problem_, call.node_index_, name), mend));
  }
  return {};
}

Result<void> GraphBuilder::BindOutput(int index) {
  const Tensor& tensor = graph_.problem_.tensors[static_cast<std::size_t>(index)];
  int made = Value(tensor.name);
  if (made < 0)
    return Fail(ErrorKind::kUsage, fmt::format("/tensors/{}: no node makes the output {}", index, tensor.name));
  const Buffer from = buffer(made);
  if (from.shape != tensor.shape || from.dtype != tensor.dtype) {
    return Fail(ErrorKind::kUsage,
                fmt::format("/tensors/{}: output '{}' is declared {}{} but the graph makes {}{}", index, tensor.name,
                            Name(tensor.dtype), ToString(tensor.shape), Name(from.dtype), ToString(from.shape)));
  }
  if (from.stage < 0 ||
      from.tensor >= 0) {  // an input handed through, or one value as two outputs: it has to be copied
    std::vector<IndexVar> vars;
    std::vector<Expr> indices;
    for (const auto extent : from.shape) {
      vars.push_back(NewIndex(extent));
      indices.emplace_back(vars.back());
    }
    const int node = static_cast<int>(graph_.problem_.nodes.size()) - 1;
    made = AddStage(tensor.name, from.shape, from.dtype, node, vars, Load(made, indices, ScalarTypeOf(from.dtype)));
  }
  graph_.buffers_[static_cast<std::size_t>(made)].tensor = index;
  graph_.outputs_.push_back(made);
  return {};
}

Result<Graph> Graph::Create(Problem problem) { return GraphBuilder(std::move(problem)).Build(); }

std::size_t SequenceEnd(const Graph& graph, std::size_t stage) {
  const auto& stages = graph.stages();
  std::size_t end = stage + 1;
  if (stages[stage].sequence < 0) return end;
  while (end < stages.size() && stages[end].sequence == stages[stage].sequence) ++end;
  return end;
}

int SourceOf(const Graph& graph, int buffer) {
  const int stage = graph.buffers()[static_cast<std::size_t>(buffer)].stage;
  const int base = stage < 0 ? -1 : graph.stages()[static_cast<std::size_t>(stage)].reshape_of;
  return base < 0 ? buffer : SourceOf(graph, base);
}

std::vector<bool> LiveStages(const Graph& graph) {
  std::vector<bool> live(graph.stages().size(), false);
  const auto need = [&](int buffer) {
    const int stage = graph.buffers()[static_cast<std::size_t>(buffer)].stage;
    if (stage >= 0) live[static_cast<std::size_t>(stage)] = true;
  };
  for (std::size_t i = 0; i < graph.problem().Outputs().size(); ++i) need(graph.Output(i));
  const auto& stages = graph.stages();
  for (std::size_t s = live.size(); s-- > 0;) {
    // Met from the back, where all who read the sequence from outside are known.
    if (stages[s].sequence >= 0 && SequenceEnd(graph, s) == s + 1) {
      std::size_t first = s;
      while (first > 0 && stages[first - 1].sequence == stages[s].sequence) --first;
      const auto begin = live.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = live.begin() + static_cast<std::ptrdiff_t>(s + 1);
      if (std::find(begin, end, true) != end) std::fill(begin, end, true);
    }
    if (!live[s]) continue;
    Visit(graph.stages()[s].value, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) need(node.buffer);
    });
  }
  return live;
}

}  // namespace hone
