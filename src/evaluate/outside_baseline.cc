#include "evaluate/outside_baseline.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "evaluate/samples.h"
#include "evaluate/worker_process.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr double kDiscardUpToUs = 20e3;  // above, the first call of a turn is as good as any
// Until the first answer of a mode it may import and compile; torch.compile's max-autotune takes minutes.
constexpr auto kAnswerWall = std::chrono::minutes(10);

}  // namespace

Result<std::shared_ptr<OutsideProcess>> OutsideProcess::Start(const Command& command,
                                                              const std::atomic<bool>* interrupt) {
  const int log = memfd_create("hone-log", MFD_CLOEXEC);
  auto child = Child::Start(command, log);
  if (!child) {
    close(log);
    return tl::unexpected<Error>(child.error());
  }
  return std::shared_ptr<OutsideProcess>(new OutsideProcess(std::move(*child), log, interrupt));
}

OutsideProcess::~OutsideProcess() {
  if (log_ >= 0) close(log_);
}

void OutsideProcess::End() {
  child_.Kill();
  lost_ = true;
}

void OutsideProcess::Stop() { child_.Signal(SIGSTOP); }
void OutsideProcess::Continue() { child_.Signal(SIGCONT); }

std::string OutsideProcess::LastWords(const std::string& end) const {
  std::string said(4096, '\0');
  const auto size = lseek(log_, 0, SEEK_END);
  const auto got = pread(log_, said.data(), said.size(), std::max<off_t>(0, size - 4096));
  said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string last = Printable(said.substr(said.rfind('\n') + 1));
  return last.empty() ? end : fmt::format("{}: {}", end, last);
}

Result<std::vector<double>> OutsideProcess::Ask(const std::string& mode, int runs, bool cold) {
  if (lost_) return Fail(ErrorKind::kTool, "the program that times it is gone");
  lost_ = true;  // until there is an answer
  const auto end = Clock::now() + kAnswerWall;
  nlohmann::json question{{"runs", runs}, {"cold", cold}};
  if (!mode.empty()) question["mode"] = mode;
  // If it is gone it may have said why before: reading tells.
  static_cast<void>(child_.WriteLine(question.dump()));
  while (true) {
    const auto line = child_.ReadLine(milliseconds(200));
    if (interrupt_ && interrupt_->load()) return Fail(ErrorKind::kTimeout, "interrupted");
    if (!line && line.error().kind == ErrorKind::kTimeout && Clock::now() < end) continue;
    if (!line) return Fail(ErrorKind::kTool, LastWords(line.error().message));
    const auto answer = nlohmann::json::parse(*line, nullptr, false);
    if (!answer.is_object()) return Fail(ErrorKind::kTool, "answered " + Printable(line->substr(0, 200)));
    if (const auto error = answer.find("error"); error != answer.end() && error->is_string()) {
      lost_ = !answer.value("goes_on", false);
      return Fail(ErrorKind::kTool, Printable(error->get<std::string>()));
    }
    if (answer.contains("ready")) continue;
    std::vector<double> times;
    if (answer.contains("ns") && answer["ns"].is_array()) {
      for (const auto& one : answer["ns"]) {
        if (one.is_number()) times.push_back(one.get<double>() / 1000);
      }
    }
    if (times.empty()) return Fail(ErrorKind::kTool, "answered " + Printable(line->substr(0, 200)));
    lost_ = false;
    return times;
  }
}

Result<std::vector<double>> OutsideParticipant::Ask(int runs, bool cold) {
  auto times = process_->Ask(mode_, runs, cold);
  if (!times) refused_ = Verdict{};
  return times;
}

Result<Turn> OutsideParticipant::Sample(std::chrono::microseconds slice, int cold) {
  Turn turn;
  process_->Continue();
  if (call_us_ == 0) {
    call_us_ = HONE_TRY(Ask(1, false)).back();
    if (call_us_ < 1e6) call_us_ = HONE_TRY(Ask(3, false)).back();
  }
  const auto runs =
      static_cast<int>(std::clamp(static_cast<double>(slice.count()) / std::max(call_us_, 1.0), 1.0, 500.0));
  turn.warm_us = HONE_TRY(Ask(call_us_ < kDiscardUpToUs ? runs + 1 : runs, false));
  if (turn.warm_us.size() > 1 && call_us_ < kDiscardUpToUs) turn.warm_us.erase(turn.warm_us.begin());
  if (cold > 0) turn.cold_us = HONE_TRY(Ask(cold, true));
  process_->Stop();
  call_us_ = Median(turn.warm_us);
  return turn;
}

}  // namespace hone
