#include "evaluate/device_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/json_text.h"
#include "base/process.h"
#include "base/text.h"
#include "profile/measured_facts.h"
#include "profile/plan_facts.h"
#include "protocol/worker_kernels.h"
#include "target/cuda/library_steps.h"
#include "target/cuda/toolkit.h"
#include "target/cuda/visible_devices.h"

namespace hone {
namespace {

constexpr std::size_t kMostOutput = 64u << 20;

Result<std::string> PackedWithLibraries(cuda::BuiltPlan plan) {
  plan.libraries = HONE_TRY(cuda::FindLibrariesOf(plan.plan));
  return cuda::Pack(plan);
}

ProfiledSetup SetupOf(const Problem& problem) { return {.problem = ToJson(problem), .folder = problem.folder}; }

std::string LastWords(const Exit& exit) {
  const std::string last = LastLine(exit.error.empty() ? exit.output : exit.error);
  return Printable(last.empty() ? exit.Describe() : last).substr(0, 300);
}

Result<std::string> FindNcu() {
  auto found = cuda::ToolkitPrograms("ncu");
  if (!found.empty()) return std::move(found.front());
  return Fail(ErrorKind::kNotFound,
              "there is no ncu (Nsight Compute): it comes with the CUDA toolkit, on the PATH or named by CUDA_HOME");
}

// --- ncu's tables: cells in quotes, numbers with commas between the thousands.
std::vector<std::string> CellsOf(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

double NumberOf(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ','), text.end());
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : std::nan("");
}

// ncu does not say of which step a kernel is. The plan's own are known by their names, in order; what comes between two
// of them is a library's, if one step alone can have launched it.
void NameSteps(std::vector<CountedKernel>& kernels, const cuda::BuiltPlan& built) {
  const auto& steps = built.plan.steps;
  std::size_t step = 0, launch = 0;
  for (CountedKernel& kernel : kernels) {
    std::size_t next = step;
    int libraries = 0, library = -1;
    for (; next < steps.size() && !std::holds_alternative<LaunchStep>(steps[next]); ++next) {
      if (std::holds_alternative<MemsetStep>(steps[next])) continue;
      ++libraries;
      library = static_cast<int>(next);
    }
    if (next < steps.size() && kernel.name == built.launches[launch].name) {
      kernel.step = static_cast<int>(next);
      step = next + 1;
      ++launch;
    } else if (libraries == 1) {
      kernel.step = library;
    }
  }
}

// Of a launch step its own profile, of a library's step a new one.
Profile& ProfileOfKernel(std::vector<Profile>& profiles, const CountedKernel& kernel, bool alone,
                         const cuda::BuiltPlan& plan, const Problem& problem, const DeviceModel& device) {
  const std::string where = kernel.step < 0 ? "" : fmt::format("/steps/{}", kernel.step);
  for (Profile& profile : profiles) {
    if (profile.scope == Scope::kLaunch && !where.empty() && profile.where == where && alone) return profile;
  }
  Profile fresh(Scope::kLaunch, kernel.name.empty() ? "a kernel without a name" : kernel.name);
  fresh.where = where;
  AddDeviceFacts(fresh, device);
  const auto step = static_cast<std::size_t>(kernel.step);
  if (alone && kernel.step >= 0 && step < plan.plan.steps.size())
    AddStepFacts(fresh, plan.plan, plan.plan.steps[step], problem, device);
  const auto whole = std::find_if(profiles.begin(), profiles.end(),
                                  [](const Profile& profile) { return profile.scope == Scope::kPlan; });
  return *profiles.insert(whole, std::move(fresh));
}

}  // namespace

std::optional<Caches> ParseCaches(std::string_view name) {
  constexpr std::string_view kNames[] = {"warm", "clean"};
  return ParseName<Caches>(kNames, name);
}

Result<std::string> NcuVersion() {
  const auto path = HONE_TRY(FindNcu());
  const auto exit = HONE_TRY(Run({.argv = {path, "--version"}, .environment = InheritedEnvironment()}));
  if (!exit.ok()) return Fail(ErrorKind::kTool, fmt::format("{} --version {}", path, exit.Describe()));
  const auto at = exit.output.find("Version ");
  if (at == std::string::npos) return path;
  return exit.output.substr(at + 8, exit.output.find_first_of(" \n", at + 8) - at - 8);
}

// A process, and the folder of what it reads.
struct DeviceProfiler::Held {
  TempDirectory folder;
  ProfiledProcess process;
  int asked = 0;
};

DeviceProfiler::DeviceProfiler(const Problem& problem, Options options)
    : problem_(problem), options_(std::move(options)) {
  if (options_.program.empty()) options_.program = OwnPath();
}

DeviceProfiler::~DeviceProfiler() = default;

Result<DeviceProfiler::Held*> DeviceProfiler::Hold(Form form) {
  auto& held = held_[form];
  if (held) return held.get();
  ProfiledSetup setup = SetupOf(problem_);
  setup.cupti = HONE_TRY(cuda::FindLibrary(cuda::Library::kCupti));
  auto folder = HONE_TRY(TempDirectory::Create("profile"));
  ProfiledProcess::Options how{.program = options_.program,
                               .device = options_.device,
                               .confined = IsForeign(form),
                               .seen = {folder.path(), problem_.folder}};
  if (setup.cupti.starts_with('/')) how.seen.push_back(std::filesystem::path(setup.cupti).parent_path().string());
  held = std::unique_ptr<Held>(new Held{std::move(folder), {std::move(setup), std::move(how)}});
  return held.get();
}

Result<ProfiledReport> DeviceProfiler::Ask(Form form, const std::string& built, const ProfileWish& wish) {
  for (auto& [other, idle] : held_) {
    if (other != form) idle.reset();  // the device's counters are one client's at a time
  }
  Held& held = *HONE_TRY(Hold(form));
  // By another name each: what is loaded under a name is not loaded again.
  ProfiledQuestion question{.form = form,
                            .built = fmt::format("{}/{}", held.folder.path(), ++held.asked),
                            .metrics = MetricsOf(wish.set),
                            .timeline = true,
                            .samples = wish.samples};
  HONE_TRY(WriteFileAtomically(question.built, built));
  if (wish.caches == Caches::kClean) {
    question.sweep = held.folder.path() + "/sweep";
    HONE_TRY(WriteFileAtomically(question.sweep, HONE_TRY(CompileWorkerKernels(options_.arch))));
  }
  auto report = held.process.Ask(question, options_.wall);
  unlink(question.built.c_str());
  return report;
}

Result<ProfiledReport> DeviceProfiler::ByCupti(const cuda::BuiltPlan& plan, const ProfileWish& wish) {
  return Ask(Form::kPlan, HONE_TRY(PackedWithLibraries(plan)), wish);
}

Result<ProfiledReport> DeviceProfiler::ModuleByCupti(const std::string& library, const ProfileWish& wish) {
  return Ask(Form::kCudaModule, HONE_TRY(ReadFile(library)), wish);
}

Result<ProfiledReport> DeviceProfiler::ByNcu(const cuda::BuiltPlan& plan, const ProfileWish& wish, NcuReplay replay,
                                             const std::string& report_file) {
  held_.clear();  // the device's counters are one client's at a time
  const std::string ncu = HONE_TRY(FindNcu());
  const auto folder = HONE_TRY(TempDirectory::Create("profile"));
  const ProfiledQuestion question{.built = folder.path() + "/plan", .watched = true};
  HONE_TRY(WriteFileAtomically(question.built, HONE_TRY(PackedWithLibraries(plan))));
  const std::string told = folder.path() + "/told";
  HONE_TRY(
      WriteFileAtomically(told, JsonText(ToRecord(SetupOf(problem_))) + "\n" + JsonText(ToRecord(question)) + "\n"));
  const auto metrics = MetricsOf(wish.set);
  // Clocks stay as they are: so does CUPTI leave them.
  Command command;
  command.argv = {ncu,
                  "--profile-from-start",
                  "off",
                  "--clock-control",
                  "none",
                  "--cache-control",
                  wish.caches == Caches::kClean ? "all" : "none",
                  "--replay-mode",
                  replay == NcuReplay::kProcess ? "application" : "kernel",
                  "--metrics",
                  fmt::format("{}", fmt::join(metrics, ",")),
                  "--force-overwrite",
                  "--export",
                  report_file,
                  options_.program,
                  "profiled",
                  told};
  command.environment = InheritedEnvironment();
  cuda::ShowDevices(command.environment, options_.device);
  command.wall = options_.wall;
  command.max_output_bytes = kMostOutput;
  const auto watched = HONE_TRY(Run(command));
  if (!watched.ok()) return Fail(ErrorKind::kTool, fmt::format("ncu: {}", LastWords(watched)));
  const auto table = HONE_TRY(Run({.argv = {ncu, "--import", report_file, "--csv", "--page", "raw", "--print-units",
                                            "base", "--print-kernel-base", "mangled"},
                                   .environment = InheritedEnvironment(),
                                   .max_output_bytes = kMostOutput}));
  if (!table.ok()) return Fail(ErrorKind::kTool, fmt::format("ncu --import: {}", LastWords(table)));
  auto report = HONE_TRY(ReadNcuTable(table.output, metrics));
  NameSteps(report.kernels, plan);
  return report;
}

Result<ProfiledReport> ReadNcuTable(const std::string& csv, std::span<const std::string> metrics) {
  const auto begin = csv.find("\"ID\"");  // it may say something before
  if (begin == std::string::npos) return Fail(ErrorKind::kCorrupt, "not a table of ncu's: no column ID");
  std::vector<std::vector<std::string>> rows;
  for (std::string_view rest = std::string_view(csv).substr(begin); !rest.empty();) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.empty()) rows.push_back(CellsOf(line));
  }
  std::map<std::string, std::size_t, std::less<>> columns;
  for (std::size_t i = 0; i < rows[0].size(); ++i) columns.emplace(rows[0][i], i);
  const auto name = columns.find("Kernel Name");
  if (name == columns.end()) return Fail(ErrorKind::kCorrupt, "not a table of ncu's: no column Kernel Name");
  ProfiledReport report;
  std::vector<std::size_t> places;
  for (const auto& metric : metrics) {
    const auto column = columns.find(metric);
    if (column == columns.end()) continue;
    report.metrics.push_back(metric);
    places.push_back(column->second);
  }
  for (const auto& row : rows) {
    if (row[0].empty() || row[0] == "ID" || row.size() != rows[0].size()) continue;  // the row of units has no ID
    CountedKernel kernel{.step = -1, .name = row[name->second], .values = {}};
    for (const std::size_t place : places) kernel.values.push_back(NumberOf(row[place]));
    report.kernels.push_back(std::move(kernel));
  }
  return report;
}

void AddMeasured(std::vector<Profile>& profiles, const ProfiledReport& report, const cuda::BuiltPlan& plan,
                 const Problem& problem, const DeviceModel& device) {
  // Kernels as they were counted, else as they were recorded; the same run, so the same order.
  std::vector<CountedKernel> kernels = report.kernels;
  std::vector<double> times;
  for (const TimelineEvent& event : report.timeline) {
    if (event.kind != EventKind::kKernel) continue;
    times.push_back(event.end_us - event.begin_us);
    if (report.kernels.empty()) kernels.push_back({event.step, event.name, {}});
  }
  std::map<int, int> of_step;
  for (const CountedKernel& kernel : kernels) ++of_step[kernel.step];
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool alone = kernels[i].step >= 0 && of_step[kernels[i].step] == 1;
    Profile& profile = ProfileOfKernel(profiles, kernels[i], alone, plan, problem, device);
    if (times.size() == kernels.size()) AddTime(profile, times[i]);
    if (!kernels[i].values.empty()) AddCounterFacts(profile, report.metrics, kernels[i].values);
  }
  std::vector<TimelinePart> parts;
  for (const TimelineEvent& event : report.timeline) parts.push_back({event.begin_us, event.end_us});
  for (Profile& profile : profiles) {
    if (profile.scope == Scope::kPlan) AddTimelineFacts(profile, parts);
  }
}

}  // namespace hone
