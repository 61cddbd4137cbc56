// The kernel behind its C interface and nothing else: for C and C++ programs.
#include <fmt/format.h>

#include "report/export.h"

namespace hone::export_form_module {
namespace {

Result<std::vector<ExportedFile>> Write(const ExportMaterial& material) {
  if (!material.plan.empty())
    return Fail(ErrorKind::kUsage, "the kernel is a plan for a CUDA device and no C++ module: use --form bundle");
  std::vector<ExportedFile> files = ModuleFiles(material);
  files.push_back({"export.json", ExportFacts(material), {}});
  std::string readme = fmt::format("# {}: a kernel\n\n", material.problem.name);
  readme += "`include/hone/module.h` says how it is called; `problem.json` which tensors it takes, in this order.\n\n";
  readme +=
      "## How fast\n" + SpeedSection(material) + "\n## How to build it\n```\n" + CompilerLine(material) + "```\n\n";
  readme += "## Files\n" + FileTable(files);
  files.push_back({"README.md", std::move(readme), {}});
  return files;
}

}  // namespace

HONE_ROW(ExportForm){"module", "the C++ kernel, its headers and its C interface", &Write};

}  // namespace hone::export_form_module
