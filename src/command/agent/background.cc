#include "command/agent/background.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/mutex.h"
#include "command/run_note.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLinesKept = 20;

// Hears nothing: the arguments are parsed once here, so that a wrong one is said at once.
class Deaf : public Listener {
  void Progress(std::string_view) override {}
  void Note(std::string_view) override {}
  bool live() const override { return false; }
};

}  // namespace

struct Background::One {
  std::string id;
  const Verb* verb = nullptr;
  Json arguments;
  Clock::time_point begun = Clock::now();
  std::atomic<bool> cancelled = false;

  Mutex mutex;
  Condition ended_changed;
  std::deque<std::string> lines HONE_GUARDED_BY(mutex);
  std::optional<std::string> run HONE_GUARDED_BY(mutex);
  std::optional<VerbEnd> end HONE_GUARDED_BY(mutex);
  double seconds HONE_GUARDED_BY(mutex) = 0;  // that it took

  std::thread thread;

  void Hear(std::string_view line) {
    const MutexLock lock(mutex);
    if (const auto named = RunOfNote(line)) run = named;
    lines.emplace_back(line);
    if (lines.size() > kLinesKept) lines.pop_front();
  }

  void End(Result<VerbEnd> how) {
    const MutexLock lock(mutex);
    end = how ? std::move(*how) : VerbEnd{.code = static_cast<int>(ExitCode::kFailed), .message = how.error().message};
    seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    // A run that was deleted again, since nothing was tried in it, is not in its document.
    const Json document = Json::parse(end->document, nullptr, false);
    if (document.is_object() && document.contains("run") && document["run"].is_string()) run = document["run"];
    ended_changed.NotifyAll();
  }

  std::string_view State() const HONE_NEEDS(mutex) {
    if (!end) return "running";
    if (end->answered()) return "done";
    return end->code == static_cast<int>(ExitCode::kInterrupted) ? "cancelled" : "failed";
  }
};

Background::Background(VerbSetting setting) : setting_(std::move(setting)) {}

Background::~Background() {
  for (const auto& one : all_) one->cancelled = true;
  for (const auto& one : all_) one->thread.join();
}

Result<std::string> Background::Start(const Verb& verb, const Json& arguments) {
  const std::vector<std::string> line = HONE_TRY(ArgumentsOf(verb, arguments));
  Deaf deaf;
  if (auto parsed = VerbCall::Parse(verb, line, deaf); !parsed) return tl::unexpected(std::move(parsed).error());
  const MutexLock lock(mutex_);
  std::size_t running = 0;
  for (const auto& one : all_) {
    const MutexLock looking(one->mutex);
    if (!one->end) ++running;
  }
  if (running >= kMostRunning)
    return Fail(ErrorKind::kUsage,
                fmt::format("{} runs are under way: wait for one, or cancel one with run_cancel", running));
  auto one = std::make_shared<One>();
  one->id = fmt::format("{}-{}", verb.name, all_.size() + 1);
  one->verb = &verb;
  one->arguments = arguments;
  all_.push_back(one);
  one->thread = std::thread([this, line, at = one.get()] {
    at->End(RunVerb(
        setting_, *at->verb, line,
        {.line = [at](std::string_view said) { at->Hear(said); }, .cancelled = [at] { return at->cancelled.load(); }}));
  });
  return one->id;
}

Result<std::shared_ptr<Background::One>> Background::Find(std::string_view id) {
  const MutexLock lock(mutex_);
  for (const auto& one : all_) {
    if (one->id == id) return one;
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("no run {} was started here; what earlier ones found is in the run store: call runs, and the "
                          "same start_run goes on with it",
                          id));
}

Result<Json> Background::Status(std::string_view id, double wait_s, const std::function<bool()>& cancelled) {
  const auto one = HONE_TRY(Find(id));
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s));
  const MutexLock lock(one->mutex);
  while (!one->end && Clock::now() < until && !(cancelled && cancelled()))
    one->ended_changed.WaitUntil(one->mutex, Clock::now() + std::chrono::milliseconds(100));
  const double seconds = one->end ? one->seconds : std::chrono::duration<double>(Clock::now() - one->begun).count();
  Json status = {{"id", one->id},
                 {"verb", one->verb->name},
                 {"arguments", one->arguments},
                 {"state", one->State()},
                 {"seconds", seconds},
                 {"run", one->run ? Json(*one->run) : Json()},
                 {"progress", one->lines.empty() ? "" : one->lines.back()},
                 {"lines", one->lines}};
  if (one->end) status["exit_code"] = one->end->code;
  if (one->end && !one->end->message.empty()) status["message"] = one->end->message;
  return status;
}

Result<void> Background::Cancel(std::string_view id) {
  HONE_TRY(Find(id))->cancelled = true;
  return {};
}

Result<Background::Report> Background::ReportOf(std::string_view id) {
  const auto one = HONE_TRY(Find(id));
  const MutexLock lock(one->mutex);
  if (!one->end)
    return Fail(ErrorKind::kUsage, fmt::format("{} still runs: run_status waits for it, run_cancel ends it", id));
  return Report{one->verb, *one->end};
}

}  // namespace hone
