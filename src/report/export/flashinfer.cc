// One JSON file that FlashInfer-Bench takes for a Solution of the definition that the problem was imported from.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "candidate/plan.h"
#include "report/export.h"
#include "report/model_new.h"

namespace hone::export_form_flashinfer {
namespace {

// Tensors come as the definition names them, by place or by name; numbers are part of what the kernel was made for.
constexpr std::string_view kRun = R"(

import re

hone_model = ModelNew()
hone_number_names = re.findall(r"(\w+) = ", hone_constant_arguments)


def run(*inputs, **named):
    """The definition's inputs in its order; its outputs, a tuple where there are several."""
    inputs += tuple(named.values())
    left = iter(hone_number_names)
    names = ["" if isinstance(value, torch.Tensor) else next(left, "number") for value in inputs]
    with torch.no_grad():
        return hone_run(hone_model, inputs, names)
)";

Result<std::vector<ExportedFile>> Write(const ExportMaterial& material) {
  if (material.plan.empty()) {
    return Fail(ErrorKind::kUsage,
                "the kernel is C++ for a CPU; FlashInfer-Bench evaluates kernels of `hone optimize --target cuda`");
  }
  const auto importer = material.problem.provenance.find("importer");
  if (importer == material.problem.provenance.end() || importer->second != "definition") {
    return Fail(ErrorKind::kUsage,
                "the problem was not imported from a definition, which a Solution is of; use --form kernelbench or "
                "bundle");
  }
  const bool parameters =
      std::ranges::any_of(material.problem.tensors, [](const Tensor& one) { return one.role == Role::kParameter; });
  if (parameters) {
    return Fail(ErrorKind::kUsage,
                "the problem has parameters, and a Solution takes the definition's inputs alone; use --form bundle");
  }
  for (const Tensor* output : material.problem.Outputs()) {
    if (output->updates.empty()) continue;
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is written into {}, and a Solution leaves what it is given as it was: "
                            "use --form bundle",
                            output->name, output->updates));
  }
  const auto parsed = ParsePlan(material.plan);
  const Plan* plan = std::get_if<Plan>(&parsed);
  const std::string source = HONE_TRY(ModelNewText(material)) + std::string(kRun);
  const std::string hardware = material.processor.empty() && plan != nullptr ? plan->arch : material.processor;
  const std::string& id = material.run.id;
  const nlohmann::json solution = {
      {"name", fmt::format("hone_{}{}", material.problem.name,
                           id.empty() ? std::string() : fmt::format("_{}_{}", id, material.attempt.number))},
      {"definition", material.problem.name},
      {"author", "hone " + material.hone_version},
      {"spec",
       {{"language", "python"},
        {"target_hardware", nlohmann::json::array({hardware})},
        {"entry_point", "main.py::run"},
        {"destination_passing_style", false},
        {"dependencies", nlohmann::json::array({"torch"})}}},
      {"sources", nlohmann::json::array({{{"path", "main.py"}, {"content", source}}})}};
  return std::vector<ExportedFile>{{"solution.json", JsonText(solution, 2) + '\n', {}}};
}

}  // namespace

HONE_ROW(ExportForm){"flashinfer", "one JSON file: a Solution, for FlashInfer-Bench", &Write};

}  // namespace hone::export_form_flashinfer
