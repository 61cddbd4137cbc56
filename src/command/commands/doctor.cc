// hone doctor: what hone leans on, whether it is here, what its absence costs and how to get it. Each row is a probe
// that really tries the thing: a sandbox is started, a program is compiled.
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "base/process.h"
#include "command/command.h"
#include "evaluate/certify.h"
#include "evaluate/device_profile.h"
#include "target/cpu/compiler.h"
#include "target/cpu/host_libraries.h"
#include "target/cuda/driver.h"
#include "target/cuda/metrics.h"
#include "target/cuda/nvcc.h"
#include "target/cuda/nvrtc.h"
#include "target/cuda/toolkit.h"
#include "target/device_model.h"

namespace hone::verb_doctor {
namespace {

struct Finding {
  bool present = false;
  std::string detail;  // what was found, or why not
};

struct Check {
  std::string_view name;
  bool required;  // without it hone cannot optimize on this machine's processor
  Finding (*probe)();
  std::string_view cost;  // what is lost without it
  std::string_view mend;  // how to get it
};

Finding Absent(std::string why) { return {.present = false, .detail = std::move(why)}; }
Finding Present(std::string what) { return {.present = true, .detail = std::move(what)}; }

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// The first line that a tool prints, or how it failed.
Finding Ask(std::vector<std::string> argv, std::string input = {}) {
  const std::string tool = argv[0];
  const auto exit = Run({.argv = std::move(argv),
                         .environment = InheritedEnvironment(),
                         .input = std::move(input),
                         .wall = std::chrono::seconds(60)});
  if (!exit) return Absent(exit.error().message);
  if (exit->ok()) return Present(FirstLine(exit->output));
  const std::string why = FirstLine(exit->error);
  return Absent(fmt::format("{} {}{}{}", tool, exit->Describe(), why.empty() ? "" : ": ", why));
}

std::string CompilerName() {
  if (const char* named = std::getenv("HONE_CXX"); named && *named) return named;
  for (const char* name : {"g++", "clang++"})
    if (FindProgram(name)) return name;
  return "g++";
}

Finding ProbeCompiler() {
  const auto version = HostCompilerVersion();
  return version ? Present(*version) : Absent(version.error().message);
}

Finding ProbeOpenMp() {
  const auto folder = TempDirectory::Create("doctor");
  if (!folder) return Absent(folder.error().message);
  const std::string program = folder->path() + "/openmp";
  const Finding built = Ask(
      {CompilerName(), "-std=c++20", "-fopenmp", "-x", "c++", "-", "-o", program},
      "#include <cstdio>\n#include <omp.h>\nint main() { std::printf(\"%d threads\\n\", omp_get_max_threads()); }\n");
  return built.present ? Ask({program}) : built;
}

Finding ProbeBubblewrap() {
  const auto path = FindProgram("bwrap");
  if (!path) return Absent("bwrap is not in PATH");
  return BubblewrapWorks() ? Present(*path)
                           : Absent(*path + " is there, but the system does not let it make namespaces");
}

Finding ProbeSeccomp() {
  const unsigned action = SECCOMP_RET_KILL_PROCESS;
  if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return Present("system call filters");
  return Absent("the kernel has no system call filters");
}

Finding ProbeTorch() {
  std::vector<std::string> pythons;
  if (const char* named = std::getenv("HONE_PYTHON"); named && *named) {
    pythons = {named};  // whoever names one means that one
  } else {
    pythons = {"python3", "/usr/bin/python3"};
  }
  Finding finding;
  for (const std::string& python : pythons) {
    finding = Ask({python, "-c", "import sys, torch; print('torch', torch.__version__, 'of', sys.executable)"});
    if (finding.present) return finding;
  }
  return Absent(pythons.front() + " has no torch");
}

Finding ProbeProcessor() {
  const DeviceModel& machine = DescribeMachine();
  return Present(fmt::format("{}, {}, {}-byte vectors", machine.processor, WidthOf(machine), machine.vector_bytes));
}

Finding ProbeCalibration() {
  const auto machine = LoadCalibration();
  if (!machine) return Absent(machine.error().message);
  return Present(fmt::format("of {}: {:.0f} GFLOP/s in f32", machine->ceilings.measured_on,
                             machine->ceilings.fma_flops_f32 / 1e9));
}

// Without leaving anything behind: the nearest folder that exists decides.
Finding ProbeWritable(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path at = path;
  while (!std::filesystem::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  if (access(at.empty() ? "." : at.c_str(), W_OK) == 0) return Present(path);
  return Absent(fmt::format("{}: no right to write to {}", path, at.string()));
}

Finding ProbeStore() { return ProbeWritable(DefaultStorePath()); }
Finding ProbeCache() { return ProbeWritable(CacheDirectory()); }

Finding ProbeNvrtc() {
  const auto version = cuda::NvrtcVersion();
  return version ? Present(*version) : Absent(FirstLine(version.error().message));
}

Finding ProbeNvcc() {
  const auto version = cuda::NvccVersion();
  return version ? Present(*version) : Absent(version.error().message.substr(0, version.error().message.find(':')));
}

Finding ProbeCutlass() {
  const auto cutlass = cuda::FindCutlass();
  if (!cutlass) return Absent(cutlass.error().message.substr(0, cutlass.error().message.find(':')));
  return Present(fmt::format("CUTLASS {} in {}", cutlass->version, cutlass->includes.front()));
}

Finding ProbeSanitizer() {
  const auto version = SanitizerVersion();
  return version ? Present("compute-sanitizer " + *version) : Absent("compute-sanitizer is not here");
}

Finding ProbeCuda() {
  const auto devices = cuda::FindDevices();
  if (!devices) return Absent(devices.error().message);
  const auto& first = devices->front();
  return Present(fmt::format("{} x {}, {}, driver for CUDA {}.{}", devices->size(), first.model.processor,
                             first.model.arch, first.driver / 1000, first.driver % 1000 / 10));
}

Finding ProbeLibrary(cuda::Library library) {
  const auto path = cuda::FindLibrary(library);
  if (path) return Present(*path);
  return Absent(library == cuda::Library::kCublasLt ? "no libcublasLt.so.13 or .12" : "no libcudnn.so.9");
}
Finding ProbeCublasLt() { return ProbeLibrary(cuda::Library::kCublasLt); }
Finding ProbeCudnn() { return ProbeLibrary(cuda::Library::kCudnn); }

Finding ProbeOneDnn() {
  return FindOneDnn() ? Present(*FindOneDnn()) : Absent("no libdnnl.so.2 in the system's folders");
}

Finding ProbeCupti() {
  const auto version = cuda::CuptiVersion();
  return version ? Present("CUPTI " + *version) : Absent("no libcupti.so.13");
}

Finding ProbeNcu() {
  const auto version = NcuVersion();
  return version ? Present("ncu " + *version) : Absent("ncu is not here");
}

constexpr Check kChecks[] = {
    {"compiler", true, ProbeCompiler, "nothing can be built", "apt install g++, or name a compiler with HONE_CXX"},
    {"openmp", true, ProbeOpenMp, "kernels cannot use all cores", "apt install g++ (or libomp-dev for clang++)"},
    {"processor", true, ProbeProcessor, "", ""},
    {"store", true, ProbeStore, "runs cannot be kept", "name a writable file with --store or HONE_STORE"},
    {"cache", true, ProbeCache, "builds cannot be kept", "name a writable folder with HONE_CACHE"},
    {"calibration", false, ProbeCalibration, "speed cannot be held against this machine's limit", "hone calibrate"},
    {"bubblewrap", false, ProbeBubblewrap,
     "candidates run without namespaces, held by limits and system call filters; imported files by limits alone",
     "apt install bubblewrap, and allow user namespaces"},
    {"seccomp", false, ProbeSeccomp, "candidates' system calls are not filtered",
     "a kernel with CONFIG_SECCOMP_FILTER"},
    {"onednn", false, ProbeOneDnn, "no library convolutions in modules, and the expert does not try them",
     "apt install libdnnl2"},
    {"torch", false, ProbeTorch, "no import of .py problems and no PyTorch baselines; problem.json works",
     "apt install python3-torch, or name a Python that has it with HONE_PYTHON"},
    {"nvrtc", false, ProbeNvrtc, "plans for CUDA cannot be compiled or inspected",
     "./dev cuda, or name the folder of a CUDA toolkit with HONE_CUDA"},
    {"nvcc", false, ProbeNvcc, "modules for CUDA (.cu) cannot be compiled; plans and programs do without it",
     "a CUDA 12.8 or newer toolkit, on the PATH or named by CUDA_HOME"},
    {"cutlass", false, ProbeCutlass, "modules for CUDA cannot include CUTLASS",
     "pip install nvidia-cutlass, or name the folder of a checkout with HONE_CUTLASS"},
    {"sanitizer", false, ProbeSanitizer, "--certify has nothing to look with; everything else works",
     "compute-sanitizer of a CUDA toolkit, on the PATH or in the folder that CUDA_HOME names"},
    {"cuda device", false, ProbeCuda, "plans for CUDA cannot be run; compiling and inspecting them works",
     "an NVIDIA GPU and its driver"},
    {"cublaslt", false, ProbeCublasLt, "no library products in plans, and the expert does not try them",
     "a CUDA toolkit, or the Python package nvidia-cublas in HONE_PYTHON"},
    {"cudnn", false, ProbeCudnn, "no library convolutions in plans: convolutions on CUDA are slow loops",
     "the Python package nvidia-cudnn-cu13 in HONE_PYTHON; a PyTorch for CUDA brings it"},
    {"cupti", false, ProbeCupti, "hone profile records no timeline, and counts by ncu alone",
     "./dev cuda, or name the folder of a CUDA 13 toolkit with HONE_CUDA"},
    {"ncu", false, ProbeNcu, "hone profile --with ncu has nothing to compare with; CUPTI does without it",
     "Nsight Compute of a CUDA toolkit, on the PATH or in the folder that CUDA_HOME names"},
};

Result<Answer> RunDoctor(VerbCall& call) {
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  bool fit = true;
  for (const Check& check : kChecks) {
    if (call.listener().live()) call.Progress(fmt::format("trying {} ...", check.name));
    const Finding finding = check.probe();
    fit = fit && (finding.present || !check.required);
    nlohmann::json row = {
        {"name", check.name}, {"present", finding.present}, {"required", check.required}, {"detail", finding.detail}};
    text += fmt::format("{:<8} {:<12} {}\n", finding.present ? "present" : "missing", check.name, finding.detail);
    if (!finding.present) {
      row["cost"] = check.cost;
      row["mend"] = check.mend;
      text += fmt::format("{:21} without it: {}\n{:21} to get it: {}\n", "", check.cost, "", check.mend);
    }
    rows.push_back(std::move(row));
  }
  text += fit ? "\nhone can optimize for this processor.\n"
              : "\nhone cannot optimize here until what is required is present.\n";
  return Answer({{"fit", fit}, {"checks", std::move(rows)}}, std::move(text), fit ? ExitCode::kDone : ExitCode::kNo);
}

}  // namespace

HONE_ROW(Verb){
    .name = "doctor",
    .doc = "Say what is present, what is missing, what that costs and how to get it",
    .group = VerbGroup::kMachine,
    .place = 1,
    .json = "fit (bool), checks[]: name, present, required, detail; cost and mend where missing",
    .no = "something required is missing",
    .run = RunDoctor,
    .only_reads = true,
};

}  // namespace hone::verb_doctor
