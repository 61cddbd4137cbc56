// hone import: a problem.json out of somebody else's file. Says at once whether hone knows all of its operators.
#include "problem/import/import.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "command/command.h"
#include "command/graph_of.h"
#include "graph/graph.h"
#include "problem/import/confine.h"
#include "problem/left_out.h"

namespace hone::verb_import {
namespace {

namespace fs = std::filesystem;

constexpr Positional kPositionals[] = {
    {.name = "file",
     .help = "model.py with Model and get_inputs, program.pt2, a definition or problem.json",
     .reads = true}};
constexpr Option kOptions[] = {
    {.name = "output",
     .letter = 'o',
     .value = "PATH",
     .help = "write problem.json here, and values that need a file beside it (default: standard output)"},
    {.name = "weights", .type = ValueType::kFlag, .help = "keep the parameters' exact values, not their distribution"},
    {.name = "contract",
     .value = "NAME",
     .help = "how accurate: torch, fp64, fp32, tf32, bf16 or fp16",
     .otherwise = "torch"},
    {.name = "workload",
     .value = "NAME",
     .help = "of a definition with workloads: its uuid or its number from 0 (default: the first)"},
    {.name = "shrink",
     .type = ValueType::kReal,
     .value = "MFLOP",
     .help =
         "cut sizes of a .py file, operators kept, to at most so many MFLOP and 8 MiB; 500 suits a CPU (0: as it is)",
     .otherwise = "0"},
    {.name = "python", .value = "PATH", .help = "interpreter with PyTorch (default: $HONE_PYTHON, else python3)"}};

std::string ValuesPath(const std::string& problem_path) {
  return fs::path(problem_path).replace_extension(".safetensors").string();
}

fs::path Absolute(const fs::path& path) {
  std::error_code ignored;
  return fs::absolute(path.empty() ? fs::path(".") : path, ignored).lexically_normal();
}

// The file that the problem is of: from the problem's folder where it lies in there or below, so that both can move;
// else by its whole path. No folder: the text may lie anywhere.
void NameSource(const std::optional<fs::path>& folder, Problem& problem) {
  const auto source = problem.provenance.find("source");
  if (source == problem.provenance.end()) return;
  const fs::path file = Absolute(source->second);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;  // of another machine, say
  const fs::path below = folder ? file.lexically_relative(Absolute(*folder)) : fs::path();
  source->second = below.empty() || *below.begin() == ".." ? file.string() : below.string();
}

// Files that the problem names keep being found from the folder that it is written to.
void MoveTo(const fs::path& folder, Problem& problem) {
  NameSource(folder, problem);
  const fs::path to = Absolute(folder), from = Absolute(problem.folder);
  for (Tensor& tensor : problem.tensors) {
    auto* file = std::get_if<FromFile>(&tensor.generator);
    if (file && fs::path(file->path).is_relative()) {
      file->path = (from / file->path).lexically_normal().lexically_relative(to).string();
    }
  }
  problem.folder = folder.string();
}

std::set<std::string> FilesOf(const Problem& problem) {
  std::set<std::string> files;
  for (const Tensor& tensor : problem.tensors) {
    if (const auto* file = std::get_if<FromFile>(&tensor.generator)) files.insert(file->path);
  }
  return files;
}

int Count(const Problem& problem, Role role) {
  int count = 0;
  for (const Tensor& tensor : problem.tensors) count += tensor.role == role;
  return count;
}

// What hone's operators say of each value's shape against what PyTorch traced: a graph that differs computes something
// else.
Result<void> CheckShapes(const Graph& graph, const std::map<std::string, Shape>& recorded, const std::string& file) {
  const auto& nodes = graph.problem().nodes;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (std::size_t o = 0; o < nodes[n].outputs.size(); ++o) {
      const auto found = recorded.find(nodes[n].outputs[o]);
      if (found == recorded.end()) continue;
      const Shape& ours = graph.buffers()[static_cast<std::size_t>(graph.node_outputs()[n][o])].shape;
      if (ours == found->second) continue;
      return Fail(
          ErrorKind::kTool,
          fmt::format("{}: {} gives %{} the shape {} here and {} in PyTorch; that is a mistake of hone's, please "
                      "report it",
                      file, nodes[n].op, found->first, ToString(ours), ToString(found->second)));
    }
  }
  return {};
}

Result<Answer> RunImport(VerbCall& call) {
  const std::string file = call.Text("file"), output = call.Text("output");
  const auto contract = ParsePrecision(call.Text("contract"));
  if (!contract) {
    return Fail(ErrorKind::kUsage,
                fmt::format("--contract {}: known are torch, fp64, fp32, tf32, bf16, fp16", call.Text("contract")));
  }
  if (call.Flag("weights") && output.empty()) {
    return Fail(ErrorKind::kUsage, "--weights writes the values to a file beside problem.json: name it with -o p.json");
  }
  ImportOptions options;
  options.python = call.Text("python");
  options.weights = call.Flag("weights");
  options.contract = *contract;
  if (!output.empty()) {
    const fs::path folder = fs::path(output).parent_path();
    if (!folder.empty()) HONE_TRY(MakeDirectories(folder.string()));
    options.weights_path = ValuesPath(output);
  }
  options.workload = call.Text("workload");
  options.shrink_mflop = call.Real("shrink");
  if (options.shrink_mflop < 0 || !std::isfinite(options.shrink_mflop)) {
    return Fail(ErrorKind::kUsage, "--shrink: is a number of MFLOP above 0; 500 suits a CPU");
  }
  if (options.shrink_mflop > 0 && !file.ends_with(".py")) {
    return Fail(ErrorKind::kUsage, fmt::format("--shrink cuts the sizes in a .py file; {} is none", file));
  }
  if (options.shrink_mflop > 0) options.wall = std::chrono::minutes(5);  // up to 150 trials
  std::map<std::string, Shape> recorded;
  options.recorded_shapes = &recorded;
  call.Stage("importing");
  Problem problem = HONE_TRY(Import(file, options));
  call.Stage("");
  if (!file.ends_with(".json") && !CanConfine()) call.Note(kNotConfined);
  if (const std::string writes = WritesLeftOut(problem); !writes.empty()) call.Note(writes);
  const auto graph = GraphOf(problem, file);
  if (!graph) call.Note(fmt::format("imported, but hone cannot optimize it yet: {}", graph.error().message));
  if (graph) HONE_TRY(CheckShapes(*graph, recorded, file));

  if (output.empty()) {
    // Nobody knows where the text will lie: paths have to hold anywhere.
    NameSource(std::nullopt, problem);
    for (Tensor& tensor : problem.tensors) {
      auto* values = std::get_if<FromFile>(&tensor.generator);
      if (!values || fs::path(values->path).is_absolute()) continue;
      std::error_code ignored;
      values->path = fs::absolute(fs::path(problem.folder) / values->path, ignored).lexically_normal().string();
    }
    if (const auto files = FilesOf(problem); !files.empty()) {
      call.Note(fmt::format("its values stay in {}; with -o p.json they lie beside it", *files.begin()));
    }
    const std::string text = ToJson(problem);
    return Answer::FromJsonText(text, text, graph ? ExitCode::kDone : ExitCode::kNo);
  }
  MoveTo(fs::path(output).parent_path(), problem);
  HONE_TRY(WriteFileAtomically(output, ToJson(problem)));
  const auto files = FilesOf(problem);
  const int inputs = Count(problem, Role::kInput), parameters = Count(problem, Role::kParameter),
            outputs = Count(problem, Role::kOutput);
  std::string text = fmt::format("{}: {} operators, {} inputs, {} parameters, {} outputs, contract {}\n", output,
                                 problem.nodes.size(), inputs, parameters, outputs, Name(problem.contract));
  for (const auto& path : files) text += fmt::format("values in {}\n", path);
  return Answer({{"problem", output},
                 {"files", files},
                 {"name", problem.name},
                 {"identity", Identity(problem)},
                 {"contract", Name(problem.contract)},
                 {"operators", problem.nodes.size()},
                 {"inputs", inputs},
                 {"parameters", parameters},
                 {"outputs", outputs},
                 {"shapes_checked", graph ? recorded.size() : 0},
                 {"optimizable", graph.has_value()}},
                std::move(text), graph ? ExitCode::kDone : ExitCode::kNo);
}

}  // namespace

HONE_ROW(Verb){
    .name = "import",
    .doc = "Write the problem.json of a PyTorch module",
    .group = VerbGroup::kProblems,
    .place = 1,
    .help =
        "Reads a KernelBench-style file (class Model, get_inputs, get_init_inputs), a program of torch.export (.pt2) "
        "or "
        "a\n"
        "definition of SOL-ExecBench or FlashInfer-Bench (a folder or its definition.json) through PyTorch, in a child "
        "process\n"
        "under limits of time and memory and, where bubblewrap works, without a network and with all files read-only.\n"
        "docs/problem.md says what is recorded. Exit code 1: it is written, and hone cannot optimize it yet.\n"
        "\n"
        "  hone import model.py -o p.json\n"
        "  hone import model.py --weights --contract fp32 -o p.json",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "without -o the problem itself; with it problem (its path), files[] (of values, from its folder), name, "
        "identity,\n"
        "contract, operators, inputs, parameters, outputs (counts), shapes_checked (values whose shape agrees\n"
        "with what PyTorch recorded), optimizable (hone knows all operators)",
    .run = RunImport,
};

}  // namespace hone::verb_import
