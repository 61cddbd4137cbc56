#include "report/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "base/text.h"
#include "candidate/plan.h"
#include "report/host_text.h"
#include "store/store.h"
#include "verdict/baselines.h"

namespace hone {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// What a file of an export is, for its README.
constexpr std::pair<std::string_view, std::string_view> kPurposes[] = {
    {"kernel.cc", "the kernel: one C++ file"},
    {"include/hone/launches.h", "what kernel.cc calls of the driver"},
    {"include/hone/library_launches.h", "what kernel.cc calls of cuBLASLt and cuDNN"},
    {"include/hone/library_calls.h", "those libraries' calls"},
    {"hone_calls.py", "how tensors reach the kernel and results come back"},
    {"hone_in_place.py", "how it writes into tensors that it is given"},
    {"plan.json", "the kernels for the device and their launches"},
    {"program.hk", "the program in hone's kernel language that it was written from"},
    {"include/hone/module.h", "its C interface, documented"},
    {"include/dlpack/dlpack.h", "the tensors of that interface"},
    {"problem.json", "what is computed: shapes, types, operators, where it came from"},
    {"model.py", "the PyTorch module that it stands in for, unchanged"},
    {"hone_kernel.py", "`ModelNew` and the `torch.library` operator"},
    {"hone_module.py", "builds, loads and calls the kernel from plain Python"},
    {"verify.py", "checks and times it again, without hone"},
    {"hone_tolerance.py", "how far verify.py lets results be off"},
    {"sample.safetensors", "inputs and results in double precision, for verify.py"},
    {"model_new.py", "`ModelNew` as one file, for PyTorch and for KernelBench's evaluator"},
    {"export.json", "the same facts for programs"},
};

// Where the values of a FromFile lie in an export: all files of values right beside problem.json.
std::map<std::string, std::string> ValueFiles(const Problem& problem) {
  std::map<std::string, std::string> names;
  for (const Tensor& tensor : problem.tensors) {
    const auto* file = std::get_if<FromFile>(&tensor.generator);
    if (!file || tensor.role == Role::kOutput || names.contains(file->path)) continue;
    names[file->path] = names.empty() ? "values.safetensors" : fmt::format("values_{}.safetensors", names.size() + 1);
  }
  return names;
}

std::string Time(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us / 1e3);
  return fmt::format("{:.3g} us", us);
}

Json Nullable(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

std::string Flags(const std::vector<std::string>& flags) { return fmt::format("{}", fmt::join(flags, " ")); }

}  // namespace

Result<const ExportForm*> FindExportForm(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ExportForm* form : AllExportForms()) {
    if (form->name == name) return form;
    known.push_back(form->name);
  }
  return Fail(ErrorKind::kUsage, fmt::format("unknown form of export '{}'{}; known are {}", name,
                                             DidYouMean(name, known), fmt::join(known, ", ")));
}

std::vector<ExportedFile> ModuleFiles(const ExportMaterial& material) {
  Problem problem = material.problem;
  const auto values = ValueFiles(problem);
  for (Tensor& tensor : problem.tensors) {
    if (auto* file = std::get_if<FromFile>(&tensor.generator); file && values.contains(file->path))
      file->path = values.at(file->path);
  }
  std::vector<ExportedFile> files;
  if (material.plan.empty()) {
    files.push_back({"kernel.cc", material.module, {}});
    files.push_back({"include/hone/module.h", std::string(material.module_header), {}});
    files.push_back({"include/dlpack/dlpack.h", std::string(material.dlpack_header), {}});
  } else {
    files.push_back({"plan.json", material.plan, {}});
    const auto plan = ParsePlan(material.plan);
    if (const auto* parsed = std::get_if<Plan>(&plan)) {
      for (const PlanSource& source : parsed->sources)
        files.push_back({"kernels/" + fs::path(source.name).filename().string(), source.text, {}});
    }
  }
  if (!material.program.empty()) files.push_back({"program.hk", material.program, {}});
  files.push_back({"problem.json", ToJson(problem), {}});
  for (const auto& [from, to] : values) files.push_back({to, {}, (fs::path(material.problem.folder) / from).string()});
  return files;
}

std::string ExportFacts(const ExportMaterial& material) {
  const auto& timing = material.evaluation.timing;
  Json against = Json::array();
  if (timing) {
    for (const Comparison& comparison : timing->against) {
      const auto& interval = comparison.interval;
      against.push_back({{"baseline", comparison.baseline},
                         {"baseline_us", comparison.baseline_warm.median_us},
                         {"speedup", Nullable(comparison.speedup)},
                         {"low", interval ? Json(interval->low) : Json()},
                         {"high", interval ? Json(interval->high) : Json()}});
    }
  }
  Json facts = {
      {"hone_export", 1},
      {"id", Sha256((material.plan.empty() ? material.module : material.plan) + '\0' + material.run.problem_identity)
                 .substr(0, 12)},
      {"hone", material.hone_version},
      {"run", material.run.id},
      {"attempt", material.attempt.number},
      {"problem", material.problem.name},
      {"problem_identity", material.run.problem_identity},
      {"target", material.run.target},
      {"machine", material.run.machine},
      {"processor", material.processor},
      {"measured", UtcTime(material.measured_ms)},
      {"confirmed", material.confirmed},
      {"threads", timing ? timing->threads : 1},
      {"warm_us", timing ? timing->warm.median_us : 0},
      {"cold_us", timing ? timing->cold.median_us : 0},
      {"prepare_us", timing ? timing->prepare_us : 0},
      {"energy", timing && timing->energy ? ToJson(*timing->energy) : Json()},
      {"against", std::move(against)},
      {"bound_us", material.run.bound_us},
      {"error_over_budget", material.evaluation.verdict.error_over_budget},
      {"types", Json::parse(DTypesJson())},
  };
  if (material.plan.empty()) facts["flags"] = {{"gcc", material.gcc_flags}, {"clang", material.clang_flags}};
  if (material.compiled) {
    const Plan& plan = material.compiled->plan;
    const BufferPlaces places = PlacesOf(plan);
    const std::vector<std::string> flags = {"-std=c++17", "-O2", "-DNDEBUG", "-fPIC", "-shared", "-fvisibility=hidden"};
    facts["flags"] = {{"gcc", flags}, {"clang", flags}};
    facts["cuda"] = {{"arch", plan.arch},
                     {"prepares", !plan.prepare.empty()},
                     {"kept_bytes", places.kept_bytes},
                     {"scratch_bytes", places.scratch_bytes}};
  }
  return JsonText(facts, 2) + '\n';
}

std::string SpeedSection(const ExportMaterial& material) {
  if (material.run.id.empty()) return "It belongs to no run: it was neither judged nor timed.\n";
  std::string text = fmt::format(
      "Attempt {} of run {}, measured {} UTC on {}{}.\n", material.attempt.number, material.run.id,
      UtcTime(material.measured_ms),
      material.processor.empty() ? fmt::format("another machine ({})", material.run.machine) : material.processor,
      material.confirmed ? ", confirmed on fresh inputs at the end of the run" : "");
  if (const auto& timing = material.evaluation.timing) {
    text += fmt::format(
        "{}{} with warm caches, {} with cold ones (medians of {} and {} samples)",
        material.plan.empty() ? fmt::format("On {} thread{}: ", timing->threads, timing->threads == 1 ? "" : "s")
                              : "On the device: ",
        Time(timing->warm.median_us), Time(timing->cold.median_us), timing->warm.count, timing->cold.count);
    if (timing->prepare_us > 0)
      text += fmt::format("; its parameters are prepared once, in {}", Time(timing->prepare_us));
    if (material.run.bound_us > 0) text += fmt::format("; that machine's limit is {}", Time(material.run.bound_us));
    text += ".\n";
    if (const auto& energy = timing->energy) {
      text += fmt::format("A call takes {:.4g} mJ of the device's energy{}, measured in {} windows of {:.1f} s; {}.\n",
                          1e3 * energy->joules,
                          energy->net_joules
                              ? fmt::format(", {:.4g} mJ without what it takes at rest", 1e3 * *energy->net_joules)
                              : std::string(),
                          energy->windows.size(), energy->window_s, energy->sensor);
    }
    if (!timing->against.empty()) text += "\n| compared with | takes | speed-up | 95 % interval |\n|---|---|---|---|\n";
    for (const Comparison& comparison : timing->against) {
      const auto& interval = comparison.interval;
      text += fmt::format(
          "| {} | {} | {} | {} |\n", BaselineWords(comparison.baseline), Time(comparison.baseline_warm.median_us),
          comparison.speedup ? fmt::format("{:.2f}", *comparison.speedup) : "none; " + comparison.WhyNoRatio(),
          interval ? fmt::format("{:.2f} to {:.2f}", interval->low, interval->high) : "none");
    }
  } else {
    text += "It was judged, but not timed.\n";
  }
  const Verdict& verdict = material.evaluation.verdict;
  text += fmt::format(
      "\nIt was accepted: every element of every output within an error budget measured for the contract `{}` against "
      "double "
      "precision, on several seeds, scales and with outliers. Largest error {:.2f} of its budget{}.\n",
      Name(material.problem.contract), verdict.error_over_budget,
      verdict.bit_reproducible ? "; the same bits each time" : "");
  return text;
}

std::string FileTable(const std::vector<ExportedFile>& files) {
  std::string text = "| file | what it is |\n|---|---|\n";
  for (const ExportedFile& file : files) {
    std::string_view purpose = "values that problem.json names";
    if (file.path.starts_with("kernels/"))
      purpose = file.path.ends_with(".cubin") ? "the kernels' machine code, which kernel.cc holds"
                                              : "the kernels' source, as it stands in plan.json";
    for (const auto& [path, what] : kPurposes) {
      if (path == file.path) purpose = what;
    }
    text += fmt::format("| `{}` | {} |\n", file.path, purpose);
  }
  return text;
}

std::string CompilerLine(const ExportMaterial& material) {
  return fmt::format("g++ {} -I include kernel.cc -o kernel.so\n", Flags(material.gcc_flags));
}

}  // namespace hone
