// hone export: an accepted attempt of a run as a folder that needs no hone.
#include "report/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "base/sha256.h"
#include "candidate/candidate.h"
#include "candidate/launch_lines.h"
#include "candidate/plan.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/run_attempt.h"
#include "command/target.h"
#include "command/wrong_input.h"
#include "dsl/lower.h"
#include "graph/graph.h"
#include "oracle/oracle.h"
#include "problem/generate.h"
#include "problem/safetensors.h"
#include "search/record.h"
#include "store/store.h"
#include "target/cpu/compiler.h"
#include "target/cuda/built_plan.h"
#include "target/device_model.h"

namespace hone {
extern const std::string_view kModuleHeader, kDlpackHeader;  // what modules include; inside of hone_target
}  // namespace hone

namespace hone::verb_export {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLargestSample = std::int64_t{64} << 20;  // bytes
constexpr std::uint64_t kSampleSeed = 20'000;                    // far from the seeds that candidates are judged on

constexpr Positional kPositionals[] = {{.name = "run",
                                        .help = "a run's id or its first digits, as `hone runs` lists them",
                                        .presence = Presence::kOptional,
                                        .run = true}};
constexpr Option kOptions[] = {
    {.name = "output", .letter = 'o', .value = "DIR", .help = "the folder to make; it must not exist or be empty"},
    {.name = "attempt",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "another accepted attempt than the best",
     .at_least = 1},
    {.name = "form",
     .value = "NAME",
     .help = "bundle (all), module (the C++ kernel alone), kernelbench (one Python file) or flashinfer (one Solution)",
     .otherwise = "bundle"},
    {.name = "problem", .value = "PATH", .help = "with --program, instead of a run: problem.json", .reads = true},
    {.name = "program",
     .value = "PATH",
     .help = "a program (.hk) or a plan (.json) for a CUDA device, exported as it is",
     .reads = true},
    {.name = "model", .value = "PATH", .help = "the .py file of the problem, if it has moved", .reads = true},
    {.name = "values",
     .value = "DIR",
     .help = "where the files of values that the problem names lie, if they have moved",
     .reads = true},
    kStoreOption};

Result<AttemptRecord> AcceptedAttempt(Store& store, const RunRecord& run, std::int64_t wanted) {
  const std::int64_t number = wanted > 0 ? wanted : run.best_attempt;
  if (number == 0) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("run {} has no best attempt yet; `hone show {}` says why", run.id, run.id));
  }
  AttemptRecord found = HONE_TRY(FindAttempt(store, run, number));
  if (found.outcome == Name(Outcome::kAccepted)) return found;
  std::string accepted;
  for (const AttemptRecord& attempt : HONE_TRY(store.Attempts(run.id))) {
    if (attempt.outcome == Name(Outcome::kAccepted)) accepted = fmt::format(", such as --attempt {}", attempt.number);
  }
  return Fail(ErrorKind::kUsage,
              fmt::format("attempt {} of run {} was not accepted ({}); export one that was{}", number, run.id,
                          found.ended() ? found.outcome : "it has not ended", accepted));
}

// Its own evaluation, or its latest confirmation's where that held.
Result<void> SpeakFor(Store& store, ExportMaterial& material) {
  material.evaluation = HONE_TRY(ReadAttempt(store, material.attempt)).evaluation;
  material.measured_ms = material.attempt.ended_ms;
  for (const ConfirmationRecord& confirmation : HONE_TRY(store.Confirmations(material.run.id))) {
    if (confirmation.attempt != material.attempt.number || confirmation.outcome != Name(Outcome::kAccepted)) continue;
    material.evaluation = HONE_TRY(ReadConfirmation(store, confirmation));
    material.measured_ms = confirmation.ended_ms;
    material.confirmed = true;
  }
  return {};
}

// The text of the file that the problem was imported from, if it is still the same file; else material.why_no_model.
Result<void> FindModel(const std::string& named, ExportMaterial& material) {
  const auto& provenance = material.problem.provenance;
  const auto source = provenance.find("source"), sha = provenance.find("source_sha256");
  const bool imported = source != provenance.end() && sha != provenance.end() && source->second.ends_with(".py");
  if (!imported) {
    if (!named.empty())
      return Fail(ErrorKind::kUsage, fmt::format("--model {}: the problem was not imported from a .py file", named));
    material.why_no_model = "The problem was not imported from a .py file with a Model.";
    return {};
  }
  const std::string path = named.empty() ? source->second : named;
  material.model_name = fs::path(path).filename().string();
  auto text = ReadFile(path);
  if (text && Sha256(*text) == sha->second) {
    material.model = std::move(*text);
  } else if (!named.empty()) {
    if (!text) return tl::unexpected<Error>(text.error());
    return Fail(ErrorKind::kUsage,
                fmt::format("--model {}: its content is not what the problem was imported from", named));
  } else {
    material.why_no_model = fmt::format("The module that the problem was imported from, {}, {}.", material.model_name,
                                        text ? "has changed since" : "was not found");
  }
  return {};
}

// Sets problem.folder so that the files which the problem names are those of the run.
Result<void> FindValues(const std::string& named, ExportMaterial& material) {
  std::string missing;
  for (const Tensor& tensor : material.problem.tensors) {
    if (const auto* file = std::get_if<FromFile>(&tensor.generator)) missing = file->path;
  }
  if (missing.empty()) return {};
  std::vector<std::string> folders = {named};
  if (named.empty()) {
    folders = {"."};
    if (const auto source = material.problem.provenance.find("source"); source != material.problem.provenance.end()) {
      folders.push_back(fs::path(source->second).parent_path().string());
    }
    folders.push_back(CacheDirectory() + "/imports");  // of a .py file that was optimized without an import first
  }
  for (const std::string& folder : folders) {
    material.problem.folder = folder;
    if (Identity(material.problem) == material.run.problem_identity) return {};
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("the problem names {}, which is not in {} as the run used it; say where with --values DIR",
                          missing, folders.front()));
}

// Sets module or plan, and program if the candidate is one.
Result<void> SetKernel(std::string_view kind, std::string text, const DeviceModel& machine, ExportMaterial& material) {
  if (kind == Name(CandidateKind::kModule)) {
    material.module = std::move(text);
  } else if (kind == Name(CandidateKind::kPlan)) {
    auto parsed = ParsePlan(text);
    if (auto* plan = std::get_if<Plan>(&parsed); plan && plan->arch.empty()) {
      plan->arch = machine.arch;  // what is exported says what it is compiled for
      text = ToJson(*plan);
    }
    material.plan = std::move(text);
  } else {
    const auto lowered = dsl::Lower(text, &material.problem, machine);
    if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered)) {
      return Fail(ErrorKind::kUsage, fmt::format("this hone does not take the program: {}", dsl::ToString(*complaint)));
    }
    const auto& program = std::get<dsl::KernelProgram>(lowered);
    (machine.kind == DeviceKind::kCuda ? material.plan : material.module) =
        machine.kind == DeviceKind::kCuda ? ToJson(dsl::EmitCuda(program)) : dsl::EmitCpu(program);
    material.program = std::move(text);
  }
  return {};
}

// The plan as it was judged: machine code, and which launches begin early. Where there is no compiler for it, why.
Result<void> Compile(const DeviceModel& machine, ExportMaterial& material) {
  const auto parsed = ParsePlan(material.plan, material.problem);
  const auto* plan = std::get_if<Plan>(&parsed);
  if (plan == nullptr) {
    const auto& issue = std::get<PlanIssue>(parsed);
    return Fail(ErrorKind::kUsage, fmt::format("the plan is not valid: {}: {}", issue.where, issue.message));
  }
  auto built = cuda::BuildPlan(*plan, material.problem, machine, OwnPath());
  if (!built && built.error().kind != ErrorKind::kNotFound) return tl::unexpected<Error>(built.error());
  if (!built) {
    material.why_not_compiled = built.error().message;
  } else if (const auto* refusal = std::get_if<cuda::PlanRefusal>(&*built)) {
    material.why_not_compiled = fmt::format("{}: {}", refusal->where, refusal->message);
  } else {
    auto& done = std::get<cuda::BuiltPlan>(*built);
    CompiledPlan compiled{.plan = std::move(done.plan),
                          .cubins = std::move(done.cubins),
                          .prepare = {},
                          .launches = {},
                          .early = done.early};
    for (const cuda::KernelFacts& kernel : done.prepare) compiled.prepare.push_back(kernel.name);
    for (const cuda::KernelFacts& kernel : done.launches) compiled.launches.push_back(kernel.name);
    material.compiled = std::move(compiled);
  }
  return {};
}

void SetTools(ExportMaterial& material) {
  material.hone_version = HONE_VERSION;
  material.gcc_flags = StandardFlags(CompilerKind::kGcc);
  material.clang_flags = StandardFlags(CompilerKind::kClang);
  material.module_header = kModuleHeader;
  material.dlpack_header = kDlpackHeader;
}

Result<std::vector<std::string>> WriteForm(const ExportForm& form, const ExportMaterial& material,
                                           const std::string& folder) {
  const auto files = HONE_TRY(form.write(material));
  HONE_TRY(WriteFolder(folder, files));
  std::vector<std::string> paths;
  for (const ExportedFile& file : files) paths.push_back(file.path);
  return paths;
}

// Inputs drawn afresh and what the oracle makes of them. Nothing if that were too large.
Result<bool> WriteSample(const Problem& problem, int threads, const std::string& path) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : problem.tensors) {
    bytes += tensor.role == Role::kOutput ? 2 * ElementCount(tensor.shape) * static_cast<std::int64_t>(sizeof(double))
                                          : tensor.bytes();
  }
  if (bytes > kLargestSample) return false;
  const Graph graph = HONE_TRY(Graph::Create(problem));
  const Oracle oracle = HONE_TRY(Oracle::Compile(graph));
  const auto inputs = problem.Inputs();
  std::vector<std::vector<std::byte>> values;
  std::vector<const void*> pointers;
  std::vector<NamedData> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& data = values.emplace_back(static_cast<std::size_t>(inputs[i]->bytes()));
    HONE_TRY(Fill(*inputs[i], kSampleSeed + 1, i, {}, data.data(), problem.folder));
    pointers.push_back(data.data());
    tensors.push_back({inputs[i]->name, inputs[i]->dtype, inputs[i]->shape, data.data()});
  }
  const auto expected = HONE_TRY(oracle.Run(pointers, threads));
  const auto outputs = problem.Outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    tensors.push_back({"expected." + outputs[i]->name, DType::kF64, outputs[i]->shape, expected[i].value.data()});
    tensors.push_back({"budget." + outputs[i]->name, DType::kF64, outputs[i]->shape, expected[i].budget.data()});
  }
  HONE_TRY(WriteSafetensors(path, tensors));
  return true;
}

// A line, or none if the form has no verify.py.
std::string HowToCheck(const std::string& folder, const std::vector<std::string>& paths, const ExportMaterial& material,
                       bool too_large) {
  if (std::find(paths.begin(), paths.end(), "verify.py") == paths.end()) return "";
  std::string_view against = "against PyTorch";
  if (material.model.empty())
    against = too_large ? "nothing: a sample would take more than 64 MB" : "against a stored sample";
  return fmt::format("check it again with `python {}/verify.py` ({})\n", folder, against);
}

// A candidate that belongs to no run.
Result<Answer> ExportProgram(VerbCall& call, const ExportForm& form, const std::string& folder) {
  const std::string path = call.Text("program");
  if (path.empty() || call.Text("problem").empty())
    return Fail(ErrorKind::kUsage, "name a run, or a candidate with --problem problem.json and --program FILE");
  if (call.Has("run") || call.Has("attempt")) return Fail(ErrorKind::kUsage, "name a run or a program, not both");
  ExportMaterial material;
  material.problem = HONE_TRY(LoadProblem(call.Text("problem")));
  HONE_TRY(FindModel(call.Text("model"), material));
  Candidate candidate = HONE_TRY(LoadCandidate(path));
  if (candidate.kind == CandidateKind::kModule || candidate.kind == CandidateKind::kCudaModule)
    return Fail(ErrorKind::kUsage,
                fmt::format("{}: a program (.hk) or a plan (.json) for a CUDA device is wanted", path));
  const DeviceModel machine = HONE_TRY(KnownDevice(true));
  HONE_TRY(SetKernel(Name(candidate.kind), std::move(candidate.text), machine, material));
  material.run.problem_identity = Identity(material.problem);
  material.run.target = "cuda";
  if (form.name == "bundle") HONE_TRY(Compile(machine, material));
  SetTools(material);
  const auto paths = HONE_TRY(WriteForm(form, material, folder));
  return Answer(
      {{"folder", folder},
       {"form", form.name},
       {"run", ""},
       {"attempt", 0},
       {"files", paths},
       {"model", !material.model.empty()},
       {"sample", false},
       {"warm_us", 0},
       {"speedup", 0}},
      fmt::format("{}: {}, neither judged nor timed\n", folder, path) + HowToCheck(folder, paths, material, false));
}

Result<Answer> RunExport(VerbCall& call) {
  const std::string folder = call.Text("output");
  if (folder.empty()) return Fail(ErrorKind::kUsage, "name the folder to make with -o DIR");
  const ExportForm* form = HONE_TRY(FindExportForm(call.Text("form")));
  if (!call.Has("run") || call.Has("program")) return ExportProgram(call, *form, folder);
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));

  ExportMaterial material;
  material.run = HONE_TRY(Named(store.FindRun(call.Text("run"))));
  material.attempt = HONE_TRY(AcceptedAttempt(store, material.run, call.Int("attempt")));
  HONE_TRY(SpeakFor(store, material));
  const std::string problem_json = HONE_TRY(store.Blob(material.run.problem_blob));
  material.problem = HONE_TRY(ParseProblem(problem_json, fmt::format("the problem of run {}", material.run.id)));
  HONE_TRY(FindModel(call.Text("model"), material));
  HONE_TRY(FindValues(call.Text("values"), material));

  const bool on_cuda = material.run.target == "cuda";
  DeviceModel machine = HONE_TRY(KnownDevice(on_cuda));
  if (machine.id == material.run.machine) {
    material.processor = machine.processor;
  } else {
    call.Note("the run was made on another machine: settings that a program leaves open are chosen for this one");
  }
  if (material.evaluation.timing && !on_cuda) machine.threads = material.evaluation.timing->threads;
  std::string source = HONE_TRY(store.Blob(material.attempt.source_blob));
  HONE_TRY(SetKernel(material.attempt.kind, std::move(source), machine, material));
  if (form->name == "bundle" && !material.plan.empty()) HONE_TRY(Compile(machine, material));
  SetTools(material);

  const TempDirectory scratch = HONE_TRY(TempDirectory::Create("export"));
  bool too_large = false;
  if (form->name == "bundle" && !on_cuda && material.model.empty()) {
    if (call.listener().live()) call.Progress("computing a sample in double precision ...");
    const std::string path = scratch.path() + "/sample.safetensors";
    too_large = !HONE_TRY(WriteSample(material.problem, machine.threads, path));
    if (!too_large) material.sample_path = path;
  }
  const auto paths = HONE_TRY(WriteForm(*form, material, folder));

  const Timing* timing = material.evaluation.timing ? &*material.evaluation.timing : nullptr;
  std::string text = fmt::format("{}: attempt {} of run {}", folder, material.attempt.number, material.run.id);
  if (timing) text += fmt::format(", {}", TimeText(timing->warm.median_us));
  if (timing && !timing->against.empty() && timing->against[0].speedup)
    text += fmt::format(", {}", SpeedWords(*timing->against[0].speedup, timing->against[0].baseline));
  text += '\n';
  if (!material.why_no_model.empty() && !on_cuda && form->name == "bundle") text += material.why_no_model + '\n';
  text += HowToCheck(folder, paths, material, too_large);
  return Answer({{"folder", folder},
                 {"form", form->name},
                 {"run", material.run.id},
                 {"attempt", material.attempt.number},
                 {"files", paths},
                 {"model", !material.model.empty()},
                 {"sample", !material.sample_path.empty()},
                 {"warm_us", timing ? timing->warm.median_us : 0},
                 {"speedup", timing && !timing->against.empty() ? timing->against[0].speedup.value_or(0) : 0}},
                std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "export",
    .doc = "Write the best kernel of a run as a folder that needs no hone",
    .group = VerbGroup::kRuns,
    .place = 4,
    .help =
        "The folder holds the C++ kernel behind its C interface, a PyTorch module ModelNew that stands in for Model, "
        "a\n"
        "torch.library operator, and verify.py, which checks and times it again. Of a run for CUDA the "
        "kernel is\n"
        "machine code with its launches in C++; the plan with its sources is there too, and model_new.py, ModelNew as "
        "one file,\n"
        "which KernelBench's evaluator takes. docs/export.md says more.\n"
        "\n"
        "  hone export 3fa -o fast_softmax\n"
        "  hone export 3fa --attempt 7 --form module -o kernel\n"
        "  hone export --problem problem.json --program fast.hk --form kernelbench -o solution",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "folder, form, run (empty: none), attempt, files[] (paths in the folder), model (bool: the .py file was "
        "found), "
        "sample\n(bool), "
        "warm_us, speedup (over the first baseline; 0 = not known)",
    .run = RunExport,
};

}  // namespace hone::verb_export
