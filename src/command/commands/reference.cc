// hone reference: the oracle's own results for a problem, as a file: what every candidate is compared with.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "command/command.h"
#include "command/graph_of.h"
#include "command/target.h"
#include "oracle/device_reference.h"
#include "oracle/oracle.h"
#include "oracle/picks.h"
#include "problem/generate.h"
#include "problem/import/import.h"
#include "problem/safetensors.h"
#include "target/device_model.h"

namespace hone::verb_reference {
namespace {

constexpr Positional kPositionals[] = {{.name = "problem", .help = "problem.json or a .py file", .reads = true}};
constexpr Option kOptions[] = {
    {.name = "output", .letter = 'o', .value = "FILE", .help = "the safetensors file to write (required)"},
    {.name = "seed",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "of the drawn inputs",
     .otherwise = "0",
     .at_least = 0},
    {.name = "scale", .type = ValueType::kReal, .value = "X", .help = "multiplies the drawn inputs", .otherwise = "1"},
    {.name = "inputs",
     .value = "FILE",
     .help = "a safetensors file that holds inputs and parameters by name; what it lacks is drawn"},
    {.name = "target", .value = "NAME", .help = "where it is computed: cpu or cuda", .otherwise = "cpu"},
};

using Bytes = std::vector<std::byte>;

// All inputs and parameters, from the file where it has them, else drawn.
Result<std::vector<Bytes>> Inputs(const VerbCall& call, const Problem& problem) {
  std::optional<Safetensors> file;
  const std::string path = call.Text("inputs");
  if (!path.empty()) file = HONE_TRY(Safetensors::Open(path));
  Draw draw;
  draw.scale = call.Real("scale");
  std::vector<Bytes> inputs;
  for (const Tensor* tensor : problem.Inputs()) {
    inputs.emplace_back(static_cast<std::size_t>(tensor->bytes()));
    void* data = inputs.back().data();
    const auto found =
        file ? file->entries().find(tensor->name) : std::map<std::string, Safetensors::Entry>::const_iterator{};
    if (file && found != file->entries().end()) {
      if (found->second.dtype != tensor->dtype || found->second.shape != tensor->shape) {
        return Fail(ErrorKind::kUsage, fmt::format("{}: '{}' is {}{}, but the problem says {}{}", path, tensor->name,
                                                   Name(found->second.dtype), ToString(found->second.shape),
                                                   Name(tensor->dtype), ToString(tensor->shape)));
      }
      HONE_TRY(file->Read(found->second, data));
    } else {
      const auto stream = static_cast<std::uint64_t>(tensor - problem.tensors.data());
      HONE_TRY(Fill(*tensor, static_cast<std::uint64_t>(call.Int("seed")), stream, draw, data, problem.folder));
    }
  }
  return inputs;
}

Result<std::vector<Expected>> Compute(VerbCall& call, const Graph& graph, const std::vector<Bytes>& inputs) {
  std::vector<const void*> pointers;
  for (const auto& input : inputs) pointers.push_back(input.data());
  call.Progress("computing");
  if (HONE_TRY(WantsCuda(call))) return ComputeOnDevice(graph, pointers);
  const Oracle oracle = HONE_TRY(Oracle::Compile(graph));
  return oracle.Run(pointers, DescribeMachine().threads);
}

// What decides elements without a budget.
std::string_view LeftTo(const Graph& graph, std::size_t output) {
  return WithPicks(graph, output) && !IsOfScan(graph, output)
             ? "are places: another is right where a value as good stands there"
             : "the contract leaves open";
}

Result<Answer> RunReference(VerbCall& call) {
  const std::string output = call.Text("output");
  if (output.empty()) return Fail(ErrorKind::kUsage, "hone reference needs -o FILE: the safetensors file to write");
  ImportOptions options;
  options.weights = true;
  options.weights_path = output + ".weights.safetensors";
  const Problem problem = HONE_TRY(Import(call.Text("problem"), options));
  const Graph graph = HONE_TRY(GraphOf(problem, call.Text("problem")));
  const auto inputs = HONE_TRY(Inputs(call, problem));
  const auto expected = HONE_TRY(Compute(call, graph, inputs));

  std::vector<NamedData> tensors;
  std::set<std::string> names;
  const auto given = problem.Inputs();
  for (std::size_t i = 0; i < given.size(); ++i) {
    tensors.push_back({given[i]->name, given[i]->dtype, given[i]->shape, inputs[i].data()});
  }
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  const auto outputs = problem.Outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Tensor& tensor = *outputs[o];
    tensors.push_back({tensor.name, DType::kF64, tensor.shape, expected[o].value.data()});
    tensors.push_back({tensor.name + ".budget", DType::kF64, tensor.shape, expected[o].budget.data()});
    std::int64_t free = 0;
    for (const double budget : expected[o].budget) free += std::isinf(budget) ? 1 : 0;
    rows.push_back({{"name", tensor.name},
                    {"shape", tensor.shape},
                    {"honest_ratio", expected[o].honest_ratio},
                    {"undecided", free}});
    text +=
        fmt::format("{:<20} {:<20} honest error {:.2f} of its scale{}\n", tensor.name, ToString(tensor.shape),
                    expected[o].honest_ratio, free ? fmt::format(", {} elements that {}", free, LeftTo(graph, o)) : "");
    if (const auto& whole = expected[o].whole) {
      rows.back()["whole"] = {{"mean", whole->mean}, {"deviation", whole->deviation}, {"honest_error", whole->error}};
      text += fmt::format(
          "{:<41} rounding decides most elements, so it is judged as a whole, too: {:.3g} +- {:.3g}, honest error "
          "{:.3g}\n",
          "", whole->mean, whole->deviation, whole->error);
    }
  }
  HONE_TRY(WriteSafetensors(output, tensors));
  return Answer({{"file", output}, {"outputs", std::move(rows)}}, std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "reference",
    .doc = "Write what a problem's outputs are, in double precision, and the data that they were computed from",
    .group = VerbGroup::kProblems,
    .place = 5,
    .help =
        "The file holds every input and parameter as it was drawn, every output NAME as f64, and as NAME.budget how "
        "far from it\n"
        "an element may be under the problem's contract. --target cuda computes them on the device, as its judge does.",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "file, outputs[]: name, shape, honest_ratio (largest error of the honest implementation over its scale), "
        "undecided\n"
        "(elements whose budget is infinite), whole (mean, deviation and honest_error, in the root mean square, where "
        "an "
        "output is\n"
        "judged as a whole, too)",
    .run = RunReference,
};

}  // namespace hone::verb_reference
