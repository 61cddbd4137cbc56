// Oracles of every operator, over all element types that it takes, alone and behind what is computed, are programs: for
// the host's compiler and for NVRTC, which read them to the end and make no code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "graph/op.h"
#include "oracle/cuda_nest.h"
#include "oracle/loop_nest.h"
#include "target/cuda/nvrtc.h"

namespace hone {
namespace {

constexpr std::int64_t kAnyLooks = 0;  // folds that may be taken from lists are

// A call with the shapes of its tensors, whose kinds are those of ScalarType: what the file says of them.
struct Call {
  struct Tensor {
    ScalarType kind = ScalarType::kReal;
    Shape shape;
  };
  Node node;  // its arguments name the tensors by their numbers, "0" and so on
  std::vector<Tensor> tensors;
};

void VisitNames(Argument& argument, const std::function<void(std::string&)>& visit) {
  if (auto* tensor = std::get_if<TensorName>(&argument.value)) visit(tensor->name);
  if (auto* list = std::get_if<ArgumentList>(&argument.value)) {
    for (auto& one : *list) VisitNames(one, visit);
  }
}
void VisitNames(Node& node, const std::function<void(std::string&)>& visit) {
  for (auto& [name, argument] : node.arguments) VisitNames(argument, visit);
}

// "real_2x3", "whole_4", "truth" (a scalar).
Call::Tensor ParseCallTensor(const std::string& text) {
  const std::string kind = text.substr(0, text.find('_'));
  Call::Tensor tensor{.kind = kind == "real"    ? ScalarType::kReal
                              : kind == "whole" ? ScalarType::kInt
                                                : ScalarType::kBool};
  for (std::size_t at = kind.size(); at < text.size();) {
    std::size_t digits = 0;
    tensor.shape.push_back(std::stoll(text.substr(at + 1), &digits));
    at += 1 + digits;
  }
  return tensor;
}

std::vector<Call> AllCalls() {
  const char* root = std::getenv("HONE_SOURCE");
  const auto text = ReadFile(std::string(root != nullptr ? root : ".") + "/src/graph/testdata/calls.json");
  if (!text) {
    ADD_FAILURE() << text.error().message;
    return {};
  }
  auto rows = nlohmann::json::parse(*text);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    auto& row = rows[r];
    row["outputs"] = nlohmann::json::array();
    for (int i = 0; i < row["results"]; ++i)
      row["outputs"].push_back("c" + std::to_string(r) + "y" + std::to_string(i));
    row.erase("results");
  }
  // What a problem has to declare: a tensor for every name, and a result.
  nlohmann::json tensors = {{{"name", "c0y0"}, {"shape", {1}}, {"dtype", "f32"}, {"role", "output"}}};
  std::set<std::string> names;
  const auto places = rows.flatten();
  for (const auto& [place, value] : places.items()) {
    if (!value.is_string() || !value.get_ref<const std::string&>().starts_with('%')) continue;
    const auto name = value.get<std::string>().substr(1);
    if (names.insert(name).second)
      tensors.push_back({{"name", name},
                         {"shape", ParseCallTensor(name).shape},
                         {"dtype", "f32"},
                         {"role", "input"},
                         {"generator", {{"kind", "constant"}, {"value", 0}}}});
  }
  const nlohmann::json problem = {
      {"hone_problem", 1}, {"name", "calls"}, {"contract", "torch"}, {"tensors", tensors}, {"graph", rows}};
  auto parsed = ParseProblem(problem.dump(), "calls.json");
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return {};
  }
  std::vector<Call> calls;
  for (Node& node : parsed->nodes) {
    Call call{.node = std::move(node)};
    VisitNames(call.node, [&](std::string& name) {
      call.tensors.push_back(ParseCallTensor(name));
      name = std::to_string(call.tensors.size() - 1);
    });
    for (std::size_t i = 0; i < call.node.outputs.size(); ++i) call.node.outputs[i] = "y" + std::to_string(i);
    calls.push_back(std::move(call));
  }
  return calls;
}

// What a call's tensors are. Rough values have an error, moved ones none, but both are computed.
enum class Given : std::uint8_t { kInputs, kRough, kMoved };
// Whether what computes them is a stage of its own, whose results lie in memory, or becomes part of the call's.
enum class Kept : bool { no, yes };

struct Form {
  ScalarType replaced;  // tensors of this kind ...
  DType dtype;          // ... are of this type
  Given given = Given::kInputs;
  Kept kept = Kept::yes;
  int only = -1;             // the tensor that is computed, -1 = all
  std::int64_t stretch = 0;  // if not 0: in place of the first tensor's last extent, wherever a tensor has that
};

// All of them for one call of an operator, and those that differ most for its others.
std::vector<Form> FormsOf(const Call& call, bool all) {
  // Of each way of holding values one.
  constexpr DType kWays[] = {DType::kF32, DType::kI64, DType::kBool, DType::kF16, DType::kU8};
  const std::span<const DType> ways(kWays), main = ways.first(3);
  std::set<ScalarType> kinds;
  for (const auto& tensor : call.tensors) kinds.insert(tensor.kind);
  if (kinds.empty()) kinds.insert(ScalarType::kReal);
  std::vector<Form> forms;
  for (const ScalarType kind : kinds) {
    if (all) {
      for (const auto& row : kDTypes) forms.push_back({kind, row.dtype});
    } else {
      for (const DType dtype : main) forms.push_back({kind, dtype});
    }
    for (const DType dtype : all ? ways : main) forms.push_back({kind, dtype, Given::kRough});
    for (const DType dtype : main) {
      forms.push_back({kind, dtype, Given::kRough, Kept::no});
      if (!all) continue;
      forms.push_back({kind, dtype, Given::kMoved});
      for (int i = 0; call.tensors.size() > 1 && i < 2; ++i)
        forms.push_back({kind, dtype, Given::kRough, Kept::yes, i});
      // Sums in lanes and of whole blocks, and those that blocks share (oracle/cuda_nest.h).
      for (const std::int64_t extent : {100, 40000})
        forms.push_back({kind, dtype, Given::kRough, Kept::yes, -1, extent});
    }
  }
  return forms;
}

DType TypeIn(const Form& form, ScalarType kind) {
  if (kind == form.replaced) return form.dtype;
  return kind == ScalarType::kReal ? DType::kF32 : kind == ScalarType::kInt ? DType::kI64 : DType::kBool;
}

Node NodeOf(std::string op, const std::string& self, const std::string& made, const std::string& name = "",
            Argument value = {}) {
  Node node{.op = std::move(op), .arguments = {{"self", {TensorName{self}}}}, .outputs = {made}};
  if (!name.empty()) node.arguments[name] = std::move(value);
  return node;
}

// Makes `name` of an input.
void Compute(Problem& problem, const std::string& name, const Shape& shape, DType dtype, Given given) {
  const std::string x = name + "x", product = name + "t";
  const bool rough = given == Given::kRough, real = IsFloat(dtype);
  problem.tensors.push_back({.name = x, .shape = shape, .dtype = rough && !real ? DType::kF32 : dtype});
  auto& nodes = problem.nodes;
  if (rough) {
    nodes.push_back(NodeOf("mul", x, real ? name : product, "other", {1.7}));
    if (dtype == DType::kBool)
      nodes.push_back(NodeOf("gt", product, name, "other", {0.3}));
    else if (!real)
      nodes.push_back(NodeOf("_to_copy", product, name, "dtype", {std::string(Name(dtype))}));
  } else if (real) {
    nodes.push_back(NodeOf("neg", x, name));
  } else if (dtype == DType::kBool) {
    nodes.push_back(NodeOf("logical_not", x, name));
  } else {
    nodes.push_back(NodeOf("add", x, name, "other", {std::int64_t{1}}));
  }
}

// Nothing where the operator does not take what it is given.
std::optional<Problem> ProblemOf(const Call& call, const Form& form) {
  Problem problem{.name = "calls"};
  std::set<std::string> outputs(call.node.outputs.begin(), call.node.outputs.end());
  const std::int64_t stretched =
      call.tensors.empty() || call.tensors[0].shape.empty() ? 0 : call.tensors[0].shape.back();
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const DType dtype = TypeIn(form, call.tensors[i].kind);
    Shape shape = call.tensors[i].shape;
    if (form.stretch != 0) std::replace(shape.begin(), shape.end(), stretched, form.stretch);
    double count = 1;
    for (const auto extent : shape) count *= static_cast<double>(extent);
    if (count > 0x1p40) return std::nullopt;  // no problem has so large a tensor
    const std::string name = std::to_string(i);
    if (form.given == Given::kInputs || (form.only >= 0 && form.only != static_cast<int>(i))) {
      problem.tensors.push_back({.name = name, .shape = shape, .dtype = dtype});
    } else {
      Compute(problem, name, shape, dtype, form.given);
      if (form.kept == Kept::yes) outputs.insert(name);
    }
  }
  problem.nodes.push_back(call.node);
  const auto graph = Graph::Create(problem);
  if (!graph || graph->stages().size() > 200) return std::nullopt;
  for (std::size_t n = 0; n < problem.nodes.size(); ++n) {
    const Node& node = problem.nodes[n];
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!outputs.contains(node.outputs[o])) continue;
      const Buffer& made = graph->buffers()[static_cast<std::size_t>(graph->node_outputs()[n][o])];
      problem.tensors.push_back(
          {.name = node.outputs[o], .shape = made.shape, .dtype = made.dtype, .role = Role::kOutput});
    }
  }
  return problem;
}

struct Case {
  std::string what;  // "aten.topk.default, real = f32"
  Problem problem;
};

const std::vector<Case>& AllCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    std::string_view last;
    for (const Call& call : AllCalls()) {
      const std::string_view op = FindOp(call.node.op)->name;
      for (const Form& form : FormsOf(call, std::exchange(last, op) != op)) {
        auto problem = ProblemOf(call, form);
        if (!problem) continue;
        constexpr const char* kGiven[] = {"inputs", "rough", "moved"};
        all.push_back({fmt::format("{} of {}, {}{}{}", call.node.op, Name(form.dtype),
                                   kGiven[static_cast<int>(form.given)], form.kept == Kept::yes ? "" : ", not kept",
                                   form.only < 0 ? "" : fmt::format(", only {}", form.only)),
                       std::move(*problem)});
      }
    }
    return all;
  }();
  return cases;
}

// Many cases as one problem.
Graph Together(std::span<const Case> cases) {
  Problem all{.name = "calls"};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string prefix = fmt::format("c{}_", i);
    Problem one = cases[i].problem;
    for (Tensor& tensor : one.tensors) all.tensors.emplace_back(std::move(tensor)).name.insert(0, prefix);
    for (Node& node : one.nodes) {
      VisitNames(node, [&](std::string& name) { name.insert(0, prefix); });
      for (auto& name : node.outputs) name.insert(0, prefix);
      all.nodes.push_back(std::move(node));
    }
  }
  auto graph = Graph::Create(std::move(all));
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    std::abort();
  }
  return std::move(*graph);
}

// The compiler's first complaint, or nothing.
using Complaint = std::function<std::string(const Graph& graph)>;

// Which cases are at fault, by halves.
void Blame(std::span<const Case> cases, const Complaint& complaint, std::vector<std::string>& found) {
  const std::string said = complaint(Together(cases));
  if (said.empty() || found.size() >= 20) return;
  if (cases.size() == 1) return found.push_back(cases[0].what + ": " + said);
  Blame(cases.first(cases.size() / 2), complaint, found);
  Blame(cases.subspan(cases.size() / 2), complaint, found);
}

void ExpectNoComplaint(const Complaint& complaint) {
  constexpr std::size_t kTogether = 2000;  // as many as share what is read before them
  const std::span<const Case> all(AllCases());
  std::cout << all.size() << " cases\n";
  ASSERT_GT(all.size(), AllOps().size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::string> found[2];
  const auto work = [&](std::vector<std::string>& mine) {
    for (std::size_t at = next.fetch_add(kTogether); at < all.size(); at = next.fetch_add(kTogether))
      Blame(all.subspan(at, std::min(kTogether, all.size() - at)), complaint, mine);
  };
  std::thread other(work, std::ref(found[1]));
  work(found[0]);
  other.join();
  for (const auto& mine : found) {
    for (const auto& one : mine) ADD_FAILURE() << one;
  }
}

std::string HostCompilersComplaint(const std::string& source) {
  const char* wish = std::getenv("HONE_CXX");
  const auto exit =
      Run({.argv = {wish != nullptr ? wish : "g++", "-std=c++17", "-fsyntax-only", "-w", "-fopenmp", "-x", "c++", "-"},
           .environment = InheritedEnvironment(),
           .input = source,
           .wall = std::chrono::minutes(10)});
  if (!exit) return exit.error().message;
  if (exit->ok()) return "";
  const auto error = exit->error.find("error: ");
  return error == std::string::npos ? exit->Describe()
                                    : exit->error.substr(error, exit->error.find('\n', error) - error);
}

TEST(OracleCompilesTest, EveryOperatorIsCalled) {
  std::set<std::string_view> called;
  for (const Call& call : AllCalls()) called.insert(FindOp(call.node.op)->name);
  for (const Op* op : AllOps()) {
    EXPECT_TRUE(called.contains(op->name))
        << op->name << ": tests/oracle_property.py build/hone --calls src/graph/testdata/calls.json adds it";
  }
}

TEST(OracleCompilesTest, TheHostsCompilerTakesEveryOperatorOverAllItsTypes) {
  if (!FindProgram("g++") && std::getenv("HONE_CXX") == nullptr) GTEST_SKIP() << "there is no g++";
  ExpectNoComplaint([](const Graph& graph) {
    // The two halves differ in their last function.
    auto [both, honest] = SourcesOfOracle(graph, kAnyLooks);
    const std::string_view name = "hone_oracle";
    honest.erase(0, honest.rfind("extern \"C\""));
    both += honest.replace(honest.find(name), name.size(), "hone_honest");
    return HostCompilersComplaint(both);
  });
}

TEST(OracleCompilesTest, NvrtcTakesEveryOperatorOverAllItsTypes) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  ExpectNoComplaint([](const Graph& graph) -> std::string {
    const CudaNests nests = WriteCudaNests(graph, TorchProducts::kF32, kAnyLooks);
    cuda::CubinRequest request{.source = nests.Source(0, nests.kernels.size()),
                               .name = "oracle.cu",
                               .arch = "sm_90a",
                               .flags = {"--fmad=false", "--fdevice-syntax-only"}};
    for (const auto& kernel : nests.kernels) {
      for (const auto& type : {std::string("Tracked"), nests.honest})
        request.instances.push_back(fmt::format("{}<{}>", kernel.name, type));
    }
    const auto compiled = cuda::CompileCubin(request);
    if (!compiled) return compiled.error().message;
    return compiled->ok() ? "" : compiled->errors.front().message;
  });
}

}  // namespace
}  // namespace hone
