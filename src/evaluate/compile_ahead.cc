#include "evaluate/compile_ahead.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "target/device_model.h"

namespace hone {

std::vector<std::string> CompilerPlaces(const std::string& folder, int threads) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // who cannot make it finds no place there, and shares none
  utsname machine{};
  uname(&machine);
  const std::vector<int> processors = UsableProcessors();
  std::vector<std::string> places;
  for (std::size_t i = 0; i < static_cast<std::size_t>(threads); ++i)
    places.push_back(
        fmt::format("{}/{}-{}.{}", folder, machine.nodename, processors[i % processors.size()], i / processors.size()));
  return places;
}

CompileAhead::CompileAhead(CompileAheadOptions options, std::function<void(const Candidate&)> compile)
    : options_(std::move(options)), compile_(std::move(compile)) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Work(); });
}

CompileAhead::~CompileAhead() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void CompileAhead::Go() {
  {
    const MutexLock lock(mutex_);
    if (!going_) going_ = Clock::now();
  }
  changed_.NotifyAll();
}

void CompileAhead::Want(std::vector<Candidate> candidates) {
  {
    const MutexLock lock(mutex_);
    waiting_.clear();
    if (!wanted_ && !candidates.empty()) wanted_ = Clock::now();
    for (Candidate& candidate : candidates) {
      if (!begun_.contains(candidate.Identity())) waiting_.push_back(std::move(candidate));
    }
  }
  changed_.NotifyAll();
}

CompilersUse CompileAhead::use() const {
  const auto seconds = [](Clock::duration time) { return std::chrono::duration<double>(time).count(); };
  const MutexLock lock(mutex_);
  CompilersUse use{.threads = static_cast<int>(threads_.size()), .busy_s = seconds(done_)};
  if (!going_) return use;
  const auto now = Clock::now();
  for (const Clock::time_point begun : compiling_) use.busy_s += seconds(now - begun);
  use.of_s = use.threads * seconds(now - *going_);
  return use;
}

bool CompileAhead::MayBegin() {
  if (!going_ && wanted_ && Clock::now() >= *wanted_ + options_.patience) going_ = *wanted_ + options_.patience;
  return going_ && !waiting_.empty();
}

bool CompileAhead::WaitForWork() {
  const MutexLock lock(mutex_);
  while (!closing_ && !MayBegin()) {
    if (wanted_ && !going_) {
      changed_.WaitUntil(mutex_, *wanted_ + options_.patience);
    } else {
      changed_.Wait(mutex_);
    }
  }
  return !closing_;
}

std::optional<CompileAhead::Place> CompileAhead::TakePlace() {
  constexpr auto kLook = std::chrono::milliseconds(20);
  if (options_.places.empty()) return Place();
  const MutexLock looking(looking_);
  for (;;) {
    for (const std::string& path : options_.places) {
      auto lock = FileLock::TryAcquire(path);
      if (!lock) return Place();
      if (*lock) return Place{std::move(*lock)};
    }
    MutexLock lock(mutex_);
    if (closing_ || !MayBegin()) return std::nullopt;
    changed_.WaitUntil(mutex_, Clock::now() + kLook);
  }
}

void CompileAhead::Work() {
  // Whoever launches kernels that are timed shall not wait for a processor. Linux has a priority for each thread.
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  while (WaitForWork()) {
    const std::optional<Place> place = TakePlace();
    if (!place) continue;
    MutexLock lock(mutex_);
    if (closing_ || waiting_.empty()) continue;
    const Candidate candidate = std::move(waiting_.front());
    waiting_.pop_front();
    if (!begun_.insert(candidate.Identity()).second) continue;
    const auto begun = compiling_.insert(Clock::now());
    lock.Unlock();
    compile_(candidate);
    lock.Lock();
    done_ += Clock::now() - *begun;
    compiling_.erase(begun);
    ++compiled_;
  }
}

}  // namespace hone
