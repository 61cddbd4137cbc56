#include "judge/outside_baseline.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "judge/samples.h"
#include "judge/worker_process.h"
#include "problem/import/confine.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr double kDiscardUpToUs = 20e3;  // above, the first call of a turn is as good as any
// Until the first answer of a mode it may import and compile; torch.compile's max-autotune takes minutes.
constexpr auto kAnswerWall = std::chrono::minutes(10);
constexpr int kMemoryDescriptor = 3;  // as bridge/hone_baseline.py has it

std::vector<double> Microseconds(const nlohmann::json& answer, const char* key) {
  std::vector<double> times;
  const auto nanoseconds = answer.find(key);
  if (nanoseconds == answer.end() || !nanoseconds->is_array()) return times;
  for (const auto& one : *nanoseconds) {
    if (one.is_number()) times.push_back(one.get<double>() / 1000);
  }
  return times;
}

}  // namespace

Result<std::shared_ptr<OutsideProcess>> OutsideProcess::Start(const OutsideBaseline& baseline, bool required,
                                                              const std::atomic<bool>* interrupt, int memory) {
  const bool foreign = !baseline.files.empty();
  std::string no_device;
  if (!foreign || CanConfine()) {
    auto process = Start(baseline, foreign, interrupt, memory, no_device);
    if (!process || no_device.empty() || !foreign) return process;
  }
  // Nothing of the file has run until the device is there: it has no say in this.
  if (required) {
    return Fail(ErrorKind::kNotFound, "its file shall not run unconfined, and bubblewrap does not work here" +
                                          (no_device.empty() ? std::string() : " with the device: " + no_device));
  }
  auto process = HONE_TRY(Start(baseline, false, interrupt, memory, no_device));
  process->unconfined_ = true;
  return process;
}

Result<std::shared_ptr<OutsideProcess>> OutsideProcess::Start(const OutsideBaseline& baseline, bool confined,
                                                              const std::atomic<bool>* interrupt, int memory,
                                                              std::string& no_device) {
  Command command{.argv = baseline.argv, .environment = baseline.environment, .directory = baseline.directory};
  if (!baseline.files.empty()) command.most_processes = kMostProcessesOfAFile;
  if (memory >= 0) command.descriptors = {{memory, kMemoryDescriptor}};
  if (confined) {
    // What torch.compile makes lies in the sandbox's own /tmp, and nobody else is given it to run.
    for (const char* cache : {"TORCHINDUCTOR_CACHE_DIR=/tmp/inductor", "TRITON_CACHE_DIR=/tmp/triton",
                              "CUDA_CACHE_PATH=/tmp/cuda", "XDG_CACHE_HOME=/tmp/cache"}) {
      command.environment.emplace_back(cache);
    }
    Confine(command, {.files = baseline.files, .device = baseline.device});
  }
  const int log = memfd_create("hone-log", MFD_CLOEXEC);
  auto child = Child::Start(command, log);
  if (!child) {
    close(log);
    return tl::unexpected<Error>(child.error());
  }
  std::shared_ptr<OutsideProcess> process(new OutsideProcess(std::move(*child), log, interrupt));
  if (!baseline.device) return process;
  const auto first = HONE_TRY(process->NextAnswer(Clock::now() + kAnswerWall));
  no_device = first.value("device", false) ? "" : first.value("error", first.dump());
  return process;
}

OutsideProcess::~OutsideProcess() {
  for (const auto& [pid, descriptor] : members_) close(descriptor);
  if (log_ >= 0) close(log_);
}

void OutsideProcess::End() {
  child_.Kill();
  lost_ = true;
}

void OutsideProcess::Stop() { Signal(SIGSTOP); }
void OutsideProcess::Continue() { Signal(SIGCONT); }

void OutsideProcess::Signal(int signal) {
  child_.Signal(signal);
  for (const auto& [pid, descriptor] : members_) syscall(SYS_pidfd_send_signal, descriptor, signal, nullptr, 0);
}

void OutsideProcess::LookForMembers() {
  for (const pid_t pid : Descendants(child_.pid())) {
    if (members_.contains(pid)) continue;
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (descriptor >= 0) members_[pid] = descriptor;
  }
}

std::uint64_t OutsideProcess::ProcessorNanoseconds() const {
  std::uint64_t sum = hone::ProcessorNanoseconds(child_.pid());
  for (const auto& [pid, descriptor] : members_) sum += hone::ProcessorNanoseconds(pid);
  return sum;
}

std::string OutsideProcess::LastWords(const std::string& end) const {
  std::string said(4096, '\0');
  const auto size = lseek(log_, 0, SEEK_END);
  const auto got = pread(log_, said.data(), said.size(), std::max<off_t>(0, size - 4096));
  said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string last = Printable(said.substr(said.rfind('\n') + 1));
  return last.empty() ? end : fmt::format("{}: {}", end, last);
}

Result<OutsideProcess::Times> OutsideProcess::Ask(const std::string& mode, int runs, bool cold,
                                                  std::chrono::microseconds most) {
  nlohmann::json question{{"runs", runs}, {"cold", cold}, {"ms", static_cast<double>(most.count()) / 1e3}};
  if (!mode.empty()) question["mode"] = mode;
  const auto answer = HONE_TRY(Answer(question));
  Times times{.us = Microseconds(answer, "ns"), .dispatched_us = Microseconds(answer, "dispatched_ns")};
  lost_ = times.us.empty();
  if (lost_) return Fail(ErrorKind::kTool, "answered " + Printable(answer.dump().substr(0, 200)));
  if (asked_.insert(mode).second) LookForMembers();  // a mode that got ready may have started some
  return times;
}

Result<nlohmann::json> OutsideProcess::Answer(const nlohmann::json& question) {
  if (lost_) return Fail(ErrorKind::kTool, "the program that times it is gone");
  lost_ = true;  // until there is an answer
  const auto end = Clock::now() + kAnswerWall;
  // If it is gone it may have said why before: reading tells.
  static_cast<void>(child_.WriteLine(question.dump()));
  while (true) {
    auto answer = HONE_TRY(NextAnswer(end));
    if (const auto error = answer.find("error"); error != answer.end() && error->is_string()) {
      lost_ = !answer.value("goes_on", false);
      return Fail(ErrorKind::kTool, Printable(error->get<std::string>()));
    }
    if (answer.contains("ready") || answer.contains("device")) continue;
    lost_ = false;
    return answer;
  }
}

Result<nlohmann::json> OutsideProcess::NextAnswer(Clock::time_point end) {
  while (true) {
    const auto line = child_.ReadLine(milliseconds(200));
    if (interrupt_ && interrupt_->load()) return Fail(ErrorKind::kInterrupted, "interrupted");
    if (!line && line.error().kind == ErrorKind::kTimeout && Clock::now() < end) continue;
    if (!line) return Fail(ErrorKind::kTool, LastWords(line.error().message));
    auto answer = nlohmann::json::parse(*line, nullptr, false);
    if (!answer.is_object()) return Fail(ErrorKind::kTool, "answered " + Printable(line->substr(0, 200)));
    return answer;
  }
}

Result<OutsideProcess::Times> OutsideParticipant::Ask(int runs, bool cold, std::chrono::microseconds most) {
  auto times = process_->Ask(mode_, runs, cold, most);
  if (!times) gone_ = true;
  return times;
}

Result<Taken> OutsideParticipant::Sample(std::chrono::microseconds slice, int cold) {
  Turn turn;
  process_->Continue();
  if (call_us_ == 0) {
    call_us_ = HONE_TRY(Ask(1, false)).us.back();
    if (call_us_ < 1e6) call_us_ = HONE_TRY(Ask(3, false)).us.back();
  }
  const bool discard = call_us_ < kDiscardUpToUs;
  const auto runs =
      static_cast<int>(std::clamp(static_cast<double>(slice.count()) / std::max(call_us_, 1.0), 1.0, 500.0));
  auto times = HONE_TRY(Ask(discard ? runs + 1 : runs, false, slice));
  for (auto* each : {&times.us, &times.dispatched_us}) {
    if (discard && each->size() > 1) each->erase(each->begin());
  }
  turn.warm_us = std::move(times.us);
  turn.dispatched_us = std::move(times.dispatched_us);
  if (cold > 0) turn.cold_us = HONE_TRY(Ask(cold, true)).us;
  process_->Stop();
  call_us_ = Median(turn.warm_us);
  return Taken(std::move(turn));
}

}  // namespace hone
