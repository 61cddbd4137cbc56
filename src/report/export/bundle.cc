// The kernel with all that it takes to use it from PyTorch and to check it without hone.
#include <fmt/format.h>

#include "report/export.h"
#include "report/model_new.h"

namespace hone {
extern const std::string_view kPythonModule, kPythonKernel, kPythonVerify;
}  // namespace hone

namespace hone::export_form_bundle {
namespace {

std::string Usage(const ExportMaterial& material) {
  if (!material.model.empty()) {
    return fmt::format(
        "Put this folder on Python's path, or copy it into your project:\n"
        "```python\n"
        "from hone_kernel import ModelNew    # where you used {}'s Model: the same arguments, parameters and "
        "state_dict\n"
        "model = ModelNew(...)\n"
        "y = model(x)\n"
        "```\n",
        material.model_name);
  }
  std::string arguments;
  for (const Tensor& tensor : material.problem.tensors) {
    if (tensor.role == Role::kParameter)
      arguments += fmt::format("{}{}=...", arguments.empty() ? "" : ", ", tensor.name);
  }
  return fmt::format("```python\nfrom hone_kernel import ModelNew\nmodel = ModelNew({})\ny = model(...)\n```\n{}\n",
                     arguments, material.why_no_model);
}

// For a CUDA device: the plan for programs, ModelNew for PyTorch.
Result<std::vector<ExportedFile>> WriteCuda(const ExportMaterial& material) {
  std::vector<ExportedFile> files = ModuleFiles(material);
  std::string usage;
  if (auto text = ModelNewText(material)) {
    files.push_back({"model_new.py", std::move(*text), {}});
    if (!material.model.empty()) files.push_back({"model.py", material.model, {}});
    usage =
        "```python\nfrom model_new import ModelNew\nmodel = ModelNew(...).cuda()\nwith torch.no_grad():\n    y = "
        "model(x)\n```\n"
        "It needs PyTorch 2.6 or newer and the CUDA toolkit, whose nvcc compiles the kernels when it is imported. It "
        "computes exactly\n"
        "the shapes and types of `problem.json`, forward only, on the current stream, one stream at a time for a "
        "module; anything else is\n"
        "refused with one line. Parameters may change between calls (not through `.data`).\n" +
        (material.why_no_model.empty() ? "" : material.why_no_model + '\n');
  } else {
    usage = "There is no model_new.py: " + text.error().message + ".\n";
  }
  files.push_back({"export.json", ExportFacts(material), {}});
  std::string readme = fmt::format("# {}: a kernel for a CUDA device\n\n", material.problem.name);
  readme += "## How fast\n" + SpeedSection(material) + "\n## How to use it\n" + usage;
  readme += "`plan.json` is the same for other programs: sources, and what to launch with them.\n";
  readme += "\n## Files\n" + FileTable(files);
  files.push_back({"README.md", std::move(readme), {}});
  return files;
}

Result<std::vector<ExportedFile>> Write(const ExportMaterial& material) {
  if (!material.plan.empty()) return WriteCuda(material);
  std::vector<ExportedFile> files = ModuleFiles(material);
  if (!material.model.empty()) files.push_back({"model.py", material.model, {}});
  files.push_back({"hone_kernel.py", std::string(kPythonKernel), {}});
  files.push_back({"hone_module.py", std::string(kPythonModule), {}});
  files.push_back({"verify.py", std::string(kPythonVerify), {}});
  if (!material.sample_path.empty()) files.push_back({"sample.safetensors", {}, material.sample_path});
  files.push_back({"export.json", ExportFacts(material), {}});

  std::string readme = fmt::format("# {}: a kernel\n\n", material.problem.name);
  readme += "## How fast\n" + SpeedSection(material);
  readme += "\n## How to use it\n" + Usage(material);
  readme +=
      "It needs a C++ compiler, since `kernel.cc` is built for this machine on first use (into `build/`), and PyTorch "
      "1.13 or newer.\n"
      "It computes exactly the shapes and types of `problem.json`, on the CPU, forward only, with PyTorch's number of "
      "threads. Anything\n"
      "else is refused with one line; nothing falls back to PyTorch. Parameters may change between calls (not through "
      "`.data`).\n\n"
      "Other programs call `kernel.cc` through the C interface of `include/hone/module.h`:\n```\n" +
      CompilerLine(material) + "```\n";
  readme +=
      "\n## How to check it\n"
      "`python verify.py` needs no hone. It exits with 0 only if the kernel is right, and says how fast both sides "
      "are.\n";
  readme += "\n## Files\n" + FileTable(files);
  files.push_back({"README.md", std::move(readme), {}});
  return files;
}

}  // namespace

HONE_ROW(ExportForm){"bundle", "all to use it from PyTorch or C, and to check it again", &Write};

}  // namespace hone::export_form_bundle
