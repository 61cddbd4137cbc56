#include "report/model_new.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "candidate/plan.h"
#include "problem/left_out.h"
#include "report/host_text.h"
#include "report/reference_text.h"

namespace hone {

extern const std::string_view kPythonCuda;
extern const std::string_view kLibraryCalls;  // target/cuda/library_calls.h

namespace {

std::string TorchType(DType dtype) { return fmt::format("torch.{}", RowOf(dtype).torch); }

std::string Tuple(const Shape& shape) {
  std::string text = "(";
  for (const auto extent : shape) text += fmt::format("{}, ", extent);
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  return text + ")";
}

// As a raw string of Python's, which three such quotes would end: they can only stand in a comment.
std::string RawString(std::string text) {
  for (std::size_t at = 0; (at = text.find("'''", at)) != std::string::npos;) text.replace(at, 3, "' '");
  return "r'''\n" + text + "'''\n";
}

std::string SourceText(const Plan& plan, const Problem& problem) {
  // PyTorch takes halves' operators away.
  std::string text;
  for (const std::string_view name : {"HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS"})
    text += fmt::format("#undef __CUDA_NO_{}__\n", name);
  text +=
      "#include <cuda.h>\n#include <cuda_runtime.h>\n\n#include <cmath>\n#include <cstdint>\n#include <stdexcept>\n"
      "#include <string>\n#include <vector>\n\n";
  if (CallsLibraries(plan)) {
    std::string calls(kLibraryCalls);
    const std::string_view once = "#pragma once\n";  // it is no header any more
    calls.erase(calls.find(once), once.size());
    text += "#include <dlfcn.h>\n\n#include <initializer_list>\n#include <map>\n\n" + calls + "\n";
  }
  return text + (plan.sources.empty() ? "" : plan.sources[0].text) + "\n" + HostText(plan, problem);
}

constexpr std::string_view kBinding = R"(#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <vector>

void hone_launch(const std::vector<std::int64_t>& at, bool prepare, std::int64_t on);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("hone_launch", &hone_launch); }
)";

// nvcc's flags: those that NVRTC alone knows go.
std::string FlagsText(const Plan& plan) {
  std::string text = "\"-O3\", \"-DNDEBUG\"";
  if (plan.sources.empty()) return text;
  for (const std::string& flag : plan.sources[0].flags) {
    if (flag != "-default-device" && flag != "--device-as-default-execution-space") text += ", " + Quoted(flag);
  }
  return text;
}

// The name in the module of what is written into and is none of forward's arguments: of a buffer, "" of others.
std::string HeldAs(const ExportMaterial& material, const Tensor& input) {
  const auto found = material.problem.provenance.find("parameter " + input.name);
  if (found == material.problem.provenance.end()) return "";
  return material.model.empty() ? input.name : found->second;
}

// One row each: where in the module an input is; which input an output is written into; whether forward returns it.
std::string InPlaceText(const ExportMaterial& material) {
  std::vector<std::string> held, updates, returned;
  std::map<std::string, std::size_t> places;
  for (const Tensor& tensor : material.problem.tensors) {
    if (tensor.role != Role::kInput) continue;
    const std::string key = HeldAs(material, tensor);
    places.emplace(tensor.name, held.size());
    held.push_back(key.empty() ? "None" : Quoted(key));
  }
  for (const Tensor* output : material.problem.Outputs()) {
    const auto into = places.find(output->updates);
    updates.push_back(into == places.end() ? "None" : std::to_string(into->second));
    returned.push_back(material.problem.provenance.contains("written " + output->name) ? "False" : "True");
  }
  return fmt::format("hone_held = [{}]\nhone_updates = [{}]\nhone_returned = [{}]\n", fmt::join(held, ", "),
                     fmt::join(updates, ", "), fmt::join(returned, ", "));
}

Result<std::string> TablesText(const ExportMaterial& material, const Plan& plan) {
  std::string inputs, parameters, outputs, buffers;
  const auto& provenance = material.problem.provenance;
  for (const Tensor& tensor : material.problem.tensors) {
    const std::string type = fmt::format("{}, {}", TorchType(tensor.dtype), Tuple(tensor.shape));
    if (tensor.role == Role::kInput) inputs += fmt::format("    ({}, {}),\n", Quoted(tensor.name), type);
    if (tensor.role == Role::kOutput) outputs += fmt::format("    ({}, {}),\n", Quoted(tensor.name), type);
    if (tensor.role != Role::kParameter) continue;
    std::string key = tensor.name, fill = "None";
    if (!material.model.empty()) {
      const auto found = provenance.find("parameter " + tensor.name);
      const auto* constant = std::get_if<Constant>(&tensor.generator);
      if (found == provenance.end() && !constant) {
        return Fail(ErrorKind::kUsage, fmt::format("the values of {} are no parameter of {} and lie in a file: they do "
                                                   "not go into one Python file",
                                                   tensor.name, material.model_name));
      }
      key = found == provenance.end() ? "" : found->second;
      if (key.empty()) fill = fmt::format("float(\"{}\")", constant->value);
    }
    parameters +=
        fmt::format("    ({}, {}, {}, {}),\n", Quoted(tensor.name), key.empty() ? "None" : Quoted(key), fill, type);
  }
  for (const PlanBuffer& buffer : plan.buffers)
    buffers += fmt::format("    ({}, {}),  # {}\n", TorchType(buffer.dtype), Tuple(buffer.shape), buffer.name);
  const auto list = [](std::string_view name, const std::string& rows) {
    return fmt::format("{} = [{}{}]\n", name, rows.empty() ? "" : "\n", rows);
  };
  // Numbers that the graph has of the module's buffers: those that a checkpoint brings must be the same.
  std::string fixed;
  for (const auto& [key, numbers] : provenance) {
    if (!key.starts_with("fixed ") || material.model.empty()) continue;
    std::string words = numbers;
    std::ranges::replace(words, ' ', ',');
    fixed += fmt::format("    ({}, {}),\n", Quoted(key.substr(6)), words);
  }
  const auto numbers = provenance.find("constant arguments");
  return list("hone_inputs", inputs) + list("hone_parameters", parameters) + list("hone_outputs", outputs) +
         list("hone_buffers", buffers) + list("hone_fixed", fixed) + InPlaceText(material) +
         fmt::format("hone_prepares = {}\nhone_constant_arguments = {}\n", plan.prepare.empty() ? "False" : "True",
                     numbers == provenance.end() ? "\"\"" : Quoted(numbers->second));
}

std::string ModelByNames(const ExportMaterial& material) {
  std::string arguments, registers;
  for (const Tensor& tensor : material.problem.tensors) {
    if (tensor.role != Role::kParameter && (tensor.role != Role::kInput || HeldAs(material, tensor).empty())) continue;
    arguments += ", " + tensor.name;
    registers += fmt::format("        self.register_buffer(\"{0}\", torch.as_tensor({0}))\n", tensor.name);
  }
  return fmt::format(
      "\n\nclass ModelNew(torch.nn.Module):\n"
      "    def __init__(self{}):\n"
      "        super().__init__()\n{}\n"
      "    def forward(self, *inputs):\n"
      "        return hone_run(self, inputs, [])\n",
      arguments, registers);
}

}  // namespace

Result<std::string> ModelNewText(const ExportMaterial& material) {
  const auto parsed = ParsePlan(material.plan);
  if (const auto* issue = std::get_if<PlanIssue>(&parsed))
    return Fail(ErrorKind::kUsage, fmt::format("the plan is not valid: {}: {}", issue->where, issue->message));
  const Plan& plan = std::get<Plan>(parsed);
  if (plan.sources.size() > 1) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the plan has {} sources; a Python file holds one", plan.sources.size()));
  }
  if (plan.arch.empty())
    return Fail(ErrorKind::kUsage, "the plan does not say what it is compiled for: give it an arch");
  std::string arch = plan.arch.starts_with("sm_") ? plan.arch.substr(3) : plan.arch;  // "90a" is 9.0a
  arch.insert(std::min(arch.find_last_of("0123456789"), arch.size()), ".");
  const std::string source = SourceText(plan, material.problem);
  std::string text = fmt::format(
      "# {}: a kernel for a CUDA device of compute capability {}, exported by hone {}.\n"
      "# ModelNew stands in for Model: the same constructor and parameters; its forward launches the kernels below "
      "and\n"
      "# nothing else. Needs PyTorch 2.6 or newer and the CUDA toolkit; the kernels are compiled on import.\n",
      material.problem.name, arch, material.hone_version);
  if (const std::string writes = WritesLeftOut(material.problem); !writes.empty()) text += "# " + writes + ".\n";
  text +=
      "import functools\nimport inspect\nimport os\n\nimport torch\nfrom torch.utils.cpp_extension import "
      "load_inline\n\n";
  text += "hone_cuda = " + RawString(source) + "\nhone_cpp = " + RawString(std::string(kBinding));
  text +=
      "\n# name, type and shape; of parameters also their name in the module, or the value that fills them; of inputs\n"
      "# apart their name there, of outputs which input they are written into and whether forward returns them\n" +
      HONE_TRY(TablesText(material, plan));
  text += fmt::format(
      "\nhone_before = os.environ.get(\"TORCH_CUDA_ARCH_LIST\")\n"
      "os.environ[\"TORCH_CUDA_ARCH_LIST\"] = \"{}\"\n"
      "hone_extension = load_inline(name=\"hone_{}\", cpp_sources=hone_cpp, cuda_sources=hone_cuda,\n"
      "                             extra_cuda_cflags=[{}], no_implicit_headers=True)\n"
      "if hone_before is None:\n"
      "    del os.environ[\"TORCH_CUDA_ARCH_LIST\"]\n"
      "else:\n"
      "    os.environ[\"TORCH_CUDA_ARCH_LIST\"] = hone_before\n\n\n",
      arch, Sha256(source + FlagsText(plan)).substr(0, 12), FlagsText(plan));
  text += kPythonCuda;
  if (material.model.empty()) return text + ModelByNames(material);

  const ReferenceText reference = HONE_TRY(ConstructorOnly(material.model, material.model_name));
  std::string arguments, names;
  for (std::string argument : reference.arguments) {
    const bool spread = argument.starts_with("*");
    argument.erase(0, argument.find_first_not_of('*'));
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", spread ? "*" + argument : argument);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", Quoted(argument));
  }
  if (reference.arguments.size() == 1) arguments += ",";
  text += fmt::format("\n\n# What follows is {}'s, without what it computed.\n", material.model_name);
  text += reference.before;
  text += fmt::format("{}return hone_run(self, ({}), [{}])\n", reference.indent, arguments, names);
  text += reference.after;
  return text;
}

}  // namespace hone
