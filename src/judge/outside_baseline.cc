#include "judge/outside_baseline.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
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
  auto process = HONE_TRY(Begin(baseline, required, interrupt, memory));
  HONE_TRY(process->Open());
  return process;
}

Result<std::shared_ptr<OutsideProcess>> OutsideProcess::Begin(const OutsideBaseline& baseline, bool required,
                                                              const std::atomic<bool>* interrupt, int memory) {
  std::shared_ptr<OutsideProcess> process(new OutsideProcess(baseline, required, interrupt, memory));
  const bool foreign = !baseline.files.empty();
  const bool confined = foreign && CanConfine();
  if (foreign && !confined && required) return tl::unexpected<Error>(process->NotConfined(""));
  HONE_TRY(process->Spawn(confined));
  return process;
}

Error OutsideProcess::NotConfined(const std::string& no_device) const {
  return {ErrorKind::kNotFound,
          "its file shall not run unconfined, and bubblewrap does not work here" +
              (no_device.empty() ? std::string() : " with the device: " + no_device),
          {}};
}

Result<void> OutsideProcess::Spawn(bool confined) {
  const bool foreign = !baseline_.files.empty();
  Command command{.argv = baseline_.argv, .environment = baseline_.environment, .directory = baseline_.directory};
  if (foreign) command.most_processes = kMostProcessesOfAFile;
  if (memory_ >= 0) command.descriptors = {{memory_, kMemoryDescriptor}};
  if (confined) {
    // What torch.compile makes lies in the sandbox's own /tmp, and nobody else is given it to run.
    for (const char* cache : {"TORCHINDUCTOR_CACHE_DIR=/tmp/inductor", "TRITON_CACHE_DIR=/tmp/triton",
                              "CUDA_CACHE_PATH=/tmp/cuda", "XDG_CACHE_HOME=/tmp/cache"}) {
      command.environment.emplace_back(cache);
    }
    Confine(command, {.files = baseline_.files, .device = baseline_.device});
  }
  child_.reset();
  if (log_ >= 0) close(log_);
  log_ = memfd_create("hone-log", MFD_CLOEXEC);
  child_ = HONE_TRY(Child::Start(command, log_));
  unconfined_ = foreign && !confined;
  asked_to_open_ = false;
  return {};
}

void OutsideProcess::AskToOpen() {
  if (asked_to_open_ || !baseline_.device) return;
  asked_to_open_ = true;
  // If it is gone it may have said why before: reading tells.
  static_cast<void>(child_->WriteLine(nlohmann::json{{"open", true}}.dump()));
}

Result<std::string> OutsideProcess::WhyNoDevice() {
  if (!baseline_.device) return std::string();
  const auto first = HONE_TRY(NextAnswer(Clock::now() + kAnswerWall));
  return first.value("device", false) ? std::string() : first.value("error", first.dump());
}

Result<void> OutsideProcess::Open() {
  if (opened_) return {};
  lost_ = true;  // until it has the device
  AskToOpen();
  std::string no_device = HONE_TRY(WhyNoDevice());
  // Nothing of the file has run until the device is there: it has no say in this.
  if (!no_device.empty() && !baseline_.files.empty() && !unconfined_) {
    if (required_) return tl::unexpected<Error>(NotConfined(no_device));
    HONE_TRY(Spawn(false));
    AskToOpen();
    no_device = HONE_TRY(WhyNoDevice());
    if (expected_) Expect(*expected_);  // whom it was asked of is gone
  }
  if (!no_device.empty()) return Fail(ErrorKind::kTool, no_device);
  opened_ = true;
  lost_ = false;
  return {};
}

void OutsideProcess::Expect(const std::string& mode) {
  AskToOpen();
  expected_ = mode;
  static_cast<void>(child_->WriteLine(TimesQuestion(mode, 1, false, std::chrono::hours(1)).dump()));
}

Result<void> OutsideProcess::Settle() {
  if (lost_ || !expected_) return {};
  auto answer = Open();
  const auto end = Clock::now() + kAnswerWall;
  while (answer) {
    const auto line = NextAnswer(end);
    if (!line) answer = tl::unexpected<Error>(line.error());
    if (line && line->contains("error")) answer = Fail(ErrorKind::kTool, "");
    if (line && line->contains("ns")) break;
  }
  if (answer) {
    asked_.insert(*expected_);
    LookForMembers();
    Stop();
  } else {
    End();
  }
  expected_.reset();
  if (!answer && answer.error().kind == ErrorKind::kInterrupted) return answer;
  return {};
}

OutsideProcess::~OutsideProcess() {
  for (const auto& [pid, descriptor] : members_) close(descriptor);
  if (log_ >= 0) close(log_);
}

void OutsideProcess::End() {
  if (child_) child_->Kill();
  lost_ = true;
  expected_.reset();
}

void OutsideProcess::Stop() { Signal(SIGSTOP); }
void OutsideProcess::Continue() { Signal(SIGCONT); }

void OutsideProcess::Signal(int signal) {
  child_->Signal(signal);
  for (const auto& [pid, descriptor] : members_) syscall(SYS_pidfd_send_signal, descriptor, signal, nullptr, 0);
}

void OutsideProcess::LookForMembers() {
  for (const pid_t pid : Descendants(child_->pid())) {
    if (members_.contains(pid)) continue;
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (descriptor >= 0) members_[pid] = descriptor;
  }
}

std::uint64_t OutsideProcess::ProcessorNanoseconds() const {
  std::uint64_t sum = hone::ProcessorNanoseconds(child_->pid());
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

nlohmann::json OutsideProcess::TimesQuestion(const std::string& mode, int runs, bool cold,
                                             std::chrono::microseconds most) const {
  nlohmann::json question{{"runs", runs}, {"cold", cold}, {"ms", static_cast<double>(most.count()) / 1e3}};
  if (!mode.empty()) question["mode"] = mode;
  return question;
}

Result<OutsideProcess::Times> OutsideProcess::Ask(const std::string& mode, int runs, bool cold,
                                                  std::chrono::microseconds most) {
  const auto answer = HONE_TRY(Answer(TimesQuestion(mode, runs, cold, most)));
  Times times{.us = Microseconds(answer, "ns"), .dispatched_us = Microseconds(answer, "dispatched_ns")};
  lost_ = times.us.empty();
  if (lost_) return Fail(ErrorKind::kTool, "answered " + Printable(answer.dump().substr(0, 200)));
  if (asked_.insert(mode).second) LookForMembers();  // a mode that got ready may have started some
  return times;
}

Result<nlohmann::json> OutsideProcess::Answer(const nlohmann::json& question) {
  if (lost_) return Fail(ErrorKind::kTool, "the program that times it is gone");
  HONE_CHECK(opened_ && !expected_, "a program is asked that is not ready, or has not answered");
  lost_ = true;  // until there is an answer
  const auto end = Clock::now() + kAnswerWall;
  // If it is gone it may have said why before: reading tells.
  static_cast<void>(child_->WriteLine(question.dump()));
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
    const auto line = child_->ReadLine(milliseconds(200));
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
  // By the quickest turn, not the last: after one that stalled two calls would be asked for, and stall again.
  const double expected_us = quickest_us_ > 0 ? quickest_us_ : call_us_;
  const bool discard = expected_us < kDiscardUpToUs;
  const auto runs =
      static_cast<int>(std::clamp(static_cast<double>(slice.count()) / std::max(expected_us, 1.0), 1.0, 500.0));
  // What is discarded may take as long as the slice, where the last turn's calls did.
  const auto most = discard ? slice + std::chrono::microseconds(static_cast<std::int64_t>(call_us_)) : slice;
  auto times = HONE_TRY(Ask(discard ? runs + 1 : runs, false, most));
  for (auto* each : {&times.us, &times.dispatched_us}) {
    if (discard && each->size() > 1) each->erase(each->begin());
  }
  turn.warm_us = std::move(times.us);
  turn.dispatched_us = std::move(times.dispatched_us);
  if (cold > 0) turn.cold_us = HONE_TRY(Ask(cold, true)).us;
  process_->Stop();
  call_us_ = Median(turn.warm_us);
  quickest_us_ = quickest_us_ > 0 ? std::min(quickest_us_, call_us_) : call_us_;
  return Taken(std::move(turn));
}

}  // namespace hone
