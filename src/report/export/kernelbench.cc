// One Python file that KernelBench's evaluator takes for a solution.
#include "report/export.h"
#include "report/model_new.h"

namespace hone::export_form_kernelbench {
namespace {

Result<std::vector<ExportedFile>> Write(const ExportMaterial& material) {
  if (material.plan.empty())
    return Fail(ErrorKind::kUsage,
                "the kernel is C++ for a CPU; KernelBench evaluates kernels of `hone optimize --target cuda`");
  if (material.model.empty())
    return Fail(ErrorKind::kUsage,
                "there is no .py file whose constructor ModelNew could have: " + material.why_no_model);
  std::vector<ExportedFile> files;
  files.push_back({"model_new.py", HONE_TRY(ModelNewText(material)), {}});
  return files;
}

}  // namespace

HONE_ROW(ExportForm){"kernelbench", "one Python file: ModelNew, for KernelBench's evaluator", &Write};

}  // namespace hone::export_form_kernelbench
