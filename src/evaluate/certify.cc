#include "evaluate/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/worker_process.h"
#include "protocol/sanitized_setup.h"
#include "target/cuda/toolkit.h"
#include "target/cuda/visible_devices.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Tool {
  const char* name;
  Outcome outcome;        // of a candidate that it finds something in
  const char* what;       // that it looks for
  const char* flag = "";  // beside its name
};
constexpr Tool kTools[] = {
    {"memcheck", Outcome::kOutOfBounds, "accesses out of bounds"},
    {"racecheck", Outcome::kNondeterministic, "races in shared memory"},
    {"initcheck", Outcome::kNondeterministic, "reads of memory that nobody has written"},
    {"synccheck", Outcome::kNondeterministic, "barriers that not all threads reach"},
};

constexpr std::size_t kLongestLog = 16 << 10;

Result<std::string> FindSanitizer() {
  auto found = cuda::ToolkitPrograms("compute-sanitizer");
  if (!found.empty()) return std::move(found.front());
  return Fail(ErrorKind::kNotFound,
              "compute-sanitizer is not here: it comes with the CUDA toolkit, on the PATH or named by CUDA_HOME");
}

// The sanitizer and the program that it watches, which writes into `folder`.
Command SanitizerCommand(const std::string& sanitizer, const Tool& tool, const CertifyRequest& request,
                         const std::string& folder) {
  Command command;
  command.environment = InheritedEnvironment();
  cuda::ShowDevices(command.environment, request.device);
  command.environment.insert(command.environment.end(), {"CUDA_CACHE_DISABLE=1", "TMPDIR=" + folder});
  if (IsForeign(request.form)) {
    BubblewrapOptions bubble;
    std::error_code ignored;
    bubble.read_only = {{request.built, ""}};
    const auto toolkit = InstallationOf(fs::canonical(sanitizer, ignored));
    if (!toolkit.empty()) bubble.read_only.push_back({toolkit, ""});
    bubble.writable = {{folder, folder}};
    bubble.environment = command.environment;
    bubble.directory = "/";
    SeeOurProgram(bubble, request.program);
    SeeTheDevice(bubble);
    command.argv = BubblewrapArgv(bubble);
  }
  command.argv.insert(command.argv.end(), {sanitizer, "--tool", tool.name, "--print-limit", "4", "--log-file",
                                           folder + "/log", request.program, "sanitized"});
  command.max_output_bytes = 1 << 20;
  return command;
}

std::string LastWords(const std::string& text) { return Printable(LastLine(text)).substr(0, 200); }

}  // namespace

std::string FirstSanitizerFinding(const std::string& log) {
  constexpr std::string_view kMark = "========= ";
  // What the tools begin a finding with. "Program hit ..." is a failed call of the driver's, which may have been tried
  // on purpose; a kernel's fault comes with a line of its own.
  constexpr std::string_view kBeginnings[] = {
      "Invalid ",    "Misaligned ",      "Uninitialized __", "Error: Race reported", "Error: Poten",
      "ERROR: Race", "ERROR: Potential", "Barrier error",    "Stack overflow",       "Address "};
  std::string finding;
  std::string_view rest = log;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (!line.starts_with(kMark)) continue;
    auto text = line.substr(kMark.size());
    const auto begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    text = text.substr(begin);
    if (!finding.empty()) return fmt::format("{} {}", finding, text);  // "at kernel+0x70 in kernel.cu:12"
    for (const auto beginning : kBeginnings) {
      if (text.starts_with(beginning)) finding = text;
    }
  }
  return finding;
}

Result<std::string> SanitizerVersion() {
  const auto path = HONE_TRY(FindSanitizer());
  const auto exit = HONE_TRY(Run({.argv = {path, "--version"}, .environment = InheritedEnvironment()}));
  if (!exit.ok()) return Fail(ErrorKind::kTool, fmt::format("{} --version {}", path, exit.Describe()));
  const auto at = exit.output.find("Version ");
  if (at == std::string::npos) return path;
  return exit.output.substr(at + 8, exit.output.find_first_of(" \n", at + 8) - at - 8);
}

Result<void> Certify(const CertifyRequest& request, Evaluation& evaluation) {
  const auto say = [&](std::string line) { evaluation.how->certificate.push_back(std::move(line)); };
  if (!OnDevice(request.form)) {
    say("not certified: compute-sanitizer is for candidates on a CUDA device");
    return {};
  }
  const auto sanitizer = FindSanitizer();
  if (!sanitizer) {
    say("not certified: " + sanitizer.error().message);
    return {};
  }
  if (IsForeign(request.form) && !(BubblewrapWorks() && BubblewrapMountsProc())) {
    say("not certified: under compute-sanitizer a module is held by bubblewrap alone, which does not work here");
    return {};
  }
  const auto folder = HONE_TRY(TempDirectory::Create("certify"));
  const std::string setup = ToRecord(SanitizedSetup{.problem = ToJson(request.problem),
                                                    .folder = request.problem.folder,
                                                    .form = request.form,
                                                    .built = request.built})
                                .dump();
  for (const Tool& tool : kTools) {
    const auto begin = Clock::now();
    Command command = SanitizerCommand(*sanitizer, tool, request, folder.path());
    command.input = setup + '\n';
    command.wall = request.wall;
    const auto exit = HONE_TRY(Run(command));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto log = ReadFile(folder.path() + "/log").value_or("");
    unlink((folder.path() + "/log").c_str());
    if (const auto finding = FirstSanitizerFinding(log); !finding.empty()) {
      say(fmt::format("{}: found something, {:.1f} s", tool.name, seconds));
      Verdict& verdict = evaluation.verdict;
      verdict.outcome = tool.outcome;
      verdict.reason = fmt::format("compute-sanitizer's {} finds {}: {}", tool.name, tool.what, Printable(finding));
      verdict.evidence->detail = Printable(finding);
      verdict.evidence->log = Printable(log.substr(0, kLongestLog));
      evaluation.timing.reset();
      return {};
    }
    if (exit.timed_out) {
      say(fmt::format("{}: not done within {} s", tool.name, request.wall.count() / 1000));
    } else if (!exit.ok()) {
      say(fmt::format("{}: did not run to its end: {}", tool.name,
                      LastWords(exit.error.empty() ? exit.output : exit.error)));
    } else if (log.find("SUMMARY: 0 ") == std::string::npos) {
      say(fmt::format("{}: says nothing that we understand: {}", tool.name, LastWords(log)));
    } else {
      say(fmt::format("{}: no {}, {:.1f} s", tool.name, tool.what, seconds));
    }
  }
  return {};
}

}  // namespace hone
