// The kernel with all that it takes to use it from PyTorch and to check it without hone.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "candidate/plan.h"
#include "problem/left_out.h"
#include "report/export.h"
#include "report/host_text.h"
#include "report/model_new.h"

namespace hone {
extern const std::string_view kPythonModule, kPythonKernel, kPythonVerify, kPythonTolerance, kPythonInPlace,
    kPythonCpuCalls, kPythonCudaCalls;
extern const std::string_view kLaunches, kLibraryLaunches, kLibraryCalls;
}  // namespace hone

namespace hone::export_form_bundle {
namespace {

std::string Usage(const ExportMaterial& material) {
  const std::string_view device = material.plan.empty() ? "" : ".cuda()";
  if (!material.model.empty()) {
    return fmt::format(
        "Put this folder on Python's path, or copy it into your project:\n"
        "```python\n"
        "from hone_kernel import ModelNew    # where you used {}'s Model: the same arguments, parameters and "
        "state_dict\n"
        "model = ModelNew(...){}\n"
        "y = model(x)\n"
        "```\n",
        material.model_name, device);
  }
  std::string arguments;
  for (const Tensor& tensor : material.problem.tensors) {
    const bool held = material.problem.provenance.contains("parameter " + tensor.name);
    if (tensor.role == Role::kParameter || (tensor.role == Role::kInput && held))
      arguments += fmt::format("{}{}=...", arguments.empty() ? "" : ", ", tensor.name);
  }
  return fmt::format("```python\nfrom hone_kernel import ModelNew\nmodel = ModelNew({}){}\ny = model(...)\n```\n{}\n",
                     arguments, device, material.why_no_model);
}

std::string Writes(const Problem& problem) {
  std::string names;
  for (const Tensor* output : problem.Outputs()) {
    if (!output->updates.empty()) names += (names.empty() ? "`" : ", `") + output->updates + "`";
  }
  if (names.empty()) return "";
  return fmt::format(
      "\nIt writes into {} in place, as Model does: dense rows, aligned as a new tensor is, and memory that nothing "
      "else of the\ncall lies in. What is not so is refused, since a copy would keep what is written.\n\n",
      names);
}

std::string LeftOut(const Problem& problem) {
  const std::string writes = WritesLeftOut(problem);
  return writes.empty() ? "" : "\nIt does not all that Model does: " + writes + ".\n\n";
}

std::vector<ExportedFile> CheckingFiles() {
  return {{"verify.py", std::string(kPythonVerify), {}}, {"hone_tolerance.py", std::string(kPythonTolerance), {}}};
}
constexpr std::string_view kHowToCheck =
    "\n## How to check it\n"
    "`python verify.py` needs no hone. It exits with 0 only if the kernel is right, and says how fast both sides "
    "are.\n";

// The kernel as machine code, and what launches it.
std::vector<ExportedFile> CompiledFiles(const ExportMaterial& material) {
  const Plan& plan = material.compiled->plan;
  std::vector<ExportedFile> files = {{"kernel.cc", KernelText(plan, material.problem, *material.compiled), {}},
                                     {"include/hone/launches.h", std::string(kLaunches), {}}};
  if (CallsLibraries(plan)) {
    std::string launches(kLibraryLaunches);
    constexpr std::string_view kHere = "report/cuda/launches.h";
    launches.replace(launches.find(kHere), kHere.size(), "hone/launches.h");
    files.push_back({"include/hone/library_launches.h", std::move(launches), {}});
    files.push_back({"include/hone/library_calls.h", std::string(kLibraryCalls), {}});
  }
  for (std::size_t i = 0; i < material.compiled->cubins.size(); ++i)
    files.push_back({CubinFile(i), material.compiled->cubins[i], {}});
  files.push_back({"hone_kernel.py", std::string(kPythonKernel), {}});
  files.push_back({"hone_calls.py", std::string(kPythonCudaCalls), {}});
  files.push_back({"hone_in_place.py", std::string(kPythonInPlace), {}});
  files.push_back({"hone_module.py", std::string(kPythonModule), {}});
  if (!material.model.empty()) std::ranges::move(CheckingFiles(), std::back_inserter(files));
  return files;
}

// For a CUDA device: the plan for programs, the compiled kernel and ModelNew for PyTorch.
Result<std::vector<ExportedFile>> WriteCuda(const ExportMaterial& material) {
  std::vector<ExportedFile> files = ModuleFiles(material);
  std::string usage;
  if (material.compiled) {
    for (ExportedFile& file : CompiledFiles(material)) files.push_back(std::move(file));
    usage = Usage(material) +
            "It needs PyTorch 2.4 or newer and a C++ compiler, which builds `kernel.cc` on first use (into `build/`), "
            "but no CUDA toolkit:\n"
            "the kernels are there as machine code. It computes exactly the shapes and types of `problem.json`, "
            "forward only, on the\n"
            "current stream, which may be captured into a CUDA graph after a first call; anything else is refused with "
            "one line.\n"
            "Parameters may change between calls (not through `.data`).\n\n";
  } else {
    usage = fmt::format("There is no hone_kernel.py: {}.\n\n", material.why_not_compiled);
  }
  if (!material.model.empty()) files.push_back({"model.py", material.model, {}});
  if (auto text = ModelNewText(material)) {
    files.push_back({"model_new.py", std::move(*text), {}});
    usage +=
        "`model_new.py` is the same as one file of sources, as KernelBench's evaluator takes it:\n"
        "```python\nfrom model_new import ModelNew\nmodel = ModelNew(...).cuda()\nwith torch.no_grad():\n    y = "
        "model(x)\n```\n"
        "It needs PyTorch 2.6 or newer and the CUDA toolkit, whose nvcc compiles the kernels when it is imported; one "
        "stream at a\ntime for a module.\n";
  } else {
    usage += "There is no model_new.py: " + text.error().message + ".\n";
  }
  files.push_back({"export.json", ExportFacts(material), {}});
  std::string readme = fmt::format("# {}: a kernel for a CUDA device\n\n", material.problem.name);
  readme += "## How fast\n" + SpeedSection(material) + "\n## How to use it\n" + usage + Writes(material.problem) +
            LeftOut(material.problem);
  readme += "\n`plan.json` is the same for other programs: sources, and what to launch with them.\n";
  if (material.compiled && !material.model.empty()) readme += kHowToCheck;
  readme += "\n## Files\n" + FileTable(files);
  files.push_back({"README.md", std::move(readme), {}});
  return files;
}

Result<std::vector<ExportedFile>> Write(const ExportMaterial& material) {
  if (!material.plan.empty()) return WriteCuda(material);
  std::vector<ExportedFile> files = ModuleFiles(material);
  if (!material.model.empty()) files.push_back({"model.py", material.model, {}});
  files.push_back({"hone_kernel.py", std::string(kPythonKernel), {}});
  files.push_back({"hone_calls.py", std::string(kPythonCpuCalls), {}});
  files.push_back({"hone_in_place.py", std::string(kPythonInPlace), {}});
  files.push_back({"hone_module.py", std::string(kPythonModule), {}});
  std::ranges::move(CheckingFiles(), std::back_inserter(files));
  if (!material.sample_path.empty()) files.push_back({"sample.safetensors", {}, material.sample_path});
  files.push_back({"export.json", ExportFacts(material), {}});

  std::string readme = fmt::format("# {}: a kernel\n\n", material.problem.name);
  readme += "## How fast\n" + SpeedSection(material);
  readme += "\n## How to use it\n" + Usage(material) + Writes(material.problem) + LeftOut(material.problem);
  readme +=
      "It needs a C++ compiler, since `kernel.cc` is built for this machine on first use (into `build/`), and PyTorch "
      "1.13 or newer.\n"
      "It computes exactly the shapes and types of `problem.json`, on the CPU, forward only, with PyTorch's number of "
      "threads. Anything\n"
      "else is refused with one line; nothing falls back to PyTorch. Parameters may change between calls (not through "
      "`.data`).\n\n"
      "Other programs call `kernel.cc` through the C interface of `include/hone/module.h`:\n```\n" +
      CompilerLine(material) + "```\n";
  readme += kHowToCheck;
  readme += "\n## Files\n" + FileTable(files);
  files.push_back({"README.md", std::move(readme), {}});
  return files;
}

}  // namespace

HONE_ROW(ExportForm){"bundle", "all to use it from PyTorch or C, and to check it again", &Write};

}  // namespace hone::export_form_bundle
