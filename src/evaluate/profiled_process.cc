#include "evaluate/profiled_process.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bubblewrap.h"
#include "base/json_text.h"
#include "base/text.h"
#include "judge/worker_process.h"
#include "target/cuda/visible_devices.h"

namespace hone {
namespace {

constexpr std::size_t kLongestLog = 16 << 10;
constexpr std::size_t kLongestWords = 300;

// The last line of what was written there, printable.
std::string LastWords(int log) {
  std::string text(kLongestLog, '\0');
  const auto end = lseek(log, 0, SEEK_END);
  const auto from = end > static_cast<off_t>(kLongestLog) ? end - static_cast<off_t>(kLongestLog) : 0;
  const auto got = pread(log, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return Printable(LastLine(text)).substr(0, kLongestWords);
}

}  // namespace

ProfiledProcess::ProfiledProcess(ProfiledSetup setup, Options options)
    : setup_(std::move(setup)), options_(std::move(options)) {}

ProfiledProcess::~ProfiledProcess() {
  child_.reset();
  if (log_ >= 0) close(log_);
}

Result<void> ProfiledProcess::Start() {
  if (child_ && child_->Running()) return {};
  child_.reset();
  if (log_ >= 0) close(log_);
  log_ = memfd_create("hone-profiled", MFD_CLOEXEC);
  if (log_ < 0) return Fail(ErrorKind::kIo, fmt::format("memfd_create: {}", std::strerror(errno)));
  Command command;
  command.environment = InheritedEnvironment();
  cuda::ShowDevices(command.environment, options_.device);
  if (options_.confined) {
    if (!BubblewrapWorks() || !BubblewrapMountsProc()) {
      return Fail(ErrorKind::kNotFound,
                  "a module's own code is run for its profile in bubblewrap alone, which does not work here; `hone "
                  "doctor` says why");
    }
    BubblewrapOptions bubble;
    for (const std::string& folder : options_.seen) {
      if (!folder.empty()) bubble.read_only.push_back({folder, ""});
    }
    bubble.environment = command.environment;
    bubble.directory = "/";
    SeeOurProgram(bubble, options_.program);
    SeeTheDevice(bubble);
    command.argv = BubblewrapArgv(bubble);
  }
  command.argv.insert(command.argv.end(), {options_.program, "profiled"});
  auto child = Child::Start(command, log_);
  if (!child) return Rethrow(child.error(), "a process for profiles: ");
  ++starts_;
  child_ = *std::move(child);
  return child_->WriteLine(JsonText(ToRecord(setup_)));
}

// Ends the process, whose answer did not come.
Error ProfiledProcess::Lost(const Error& how) {
  child_.reset();
  const std::string last = how.kind == ErrorKind::kTimeout ? "" : LastWords(log_);
  return {ErrorKind::kTool, fmt::format("a run for the profile: {}", last.empty() ? how.message : last)};
}

Result<ProfiledReport> ProfiledProcess::Ask(const ProfiledQuestion& question, std::chrono::milliseconds wall) {
  HONE_TRY(Start());
  // Where it is gone by now, reading says how it ended.
  static_cast<void>(child_->WriteLine(JsonText(ToRecord(question))));
  const auto line = child_->ReadLine(wall);
  if (!line) return tl::unexpected<Error>(Lost(line.error()));
  auto report = FromRecord<ProfiledReport>(nlohmann::json::parse(*line, nullptr, false), "a profile's report");
  if (!report) {
    child_.reset();
    return report;
  }
  if (!report->failed.empty()) return tl::unexpected<Error>(Lost({ErrorKind::kTool, report->failed}));
  for (const CountedKernel& kernel : report->kernels) {
    if (kernel.values.size() != report->metrics.size())
      return Fail(ErrorKind::kCorrupt, "not a profile's report: a kernel has values of other metrics");
  }
  return report;
}

}  // namespace hone
