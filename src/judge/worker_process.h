// A worker that is a process: starts it in its sandbox, asks it, and turns every way in which it can end into a
// verdict.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bubblewrap.h"
#include "base/process.h"
#include "base/result.h"
#include "judge/worker.h"

namespace hone {

enum class SandboxPolicy {
  kAuto,      // bubblewrap where it works; the evaluation says what held the candidate
  kRequired,  // fail where bubblewrap does not work
  kProcess,   // no bubblewrap: limits and the system call filter alone
};
std::string_view Name(SandboxPolicy policy);
std::optional<SandboxPolicy> ParseSandboxPolicy(std::string_view name);

enum class IdleThreads {
  kSleep,  // threads of the module's OpenMP sleep at once when a call is over: whoever still computes gives himself
           // away
  kSpin,   // the OpenMP library's own habit
};

struct WorkerOptions {
  std::string program;  // that has the verb "worker"
  SandboxPolicy sandbox = SandboxPolicy::kAuto;
  IdleThreads idle = IdleThreads::kSpin;
  const std::atomic<bool>* interrupt = nullptr;  // ends a question in flight
};

class WorkerProcess : public Worker {
 public:
  // setup.library is the path as we see it. The descriptors stay the caller's. Fails if the worker cannot be started:
  // the candidate is not loaded yet and not to blame.
  static Result<std::unique_ptr<Worker>> Start(const WorkerOptions& options, WorkerSetup setup, int inputs_fd,
                                               int outputs_fd);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess() override;

  Result<WorkerAnswer> Ask(Request request, std::chrono::milliseconds wall) override;
  void Stop() override;
  void Continue() override;
  std::uint64_t ProcessorNanoseconds() const override;
  bool Busy() const override;
  std::string sandbox() const override { return sandbox_; }

 private:
  enum class Silence { kTimedOut, kEnded };
  WorkerProcess(Child child, WorkerSetup setup) : child_(std::move(child)), setup_(std::move(setup)) {}
  void Kill();
  std::string Log() const;  // what it has printed so far, printable characters only
  // Fails with kInterrupted alone. `sender`: the process that has sent it, where that is wanted.
  Result<tl::expected<Reply, Silence>> Receive(std::chrono::milliseconds wall, pid_t* sender);
  Result<WorkerAnswer> AskIt(const Request& request, std::chrono::milliseconds wall);
  Verdict VerdictOf(const Reply& reply) const;
  Verdict VerdictOfEnd();

  Child child_;
  WorkerSetup setup_;
  std::string sandbox_;
  bool wrapped_ = false;  // in bubblewrap
  const std::atomic<bool>* interrupt_ = nullptr;
  int channel_ = -1;
  int log_ = -1;
  pid_t pid_ = -1;  // of the worker itself, which is not child_ inside bubblewrap
  int pidfd_ = -1;
  std::uint64_t last_nonce_ = 0;  // of the last question
};

// What a device's driver needs to see inside: its nodes, what the kernel says of the device, and the libraries that lie
// elsewhere than in the system's folders.
void SeeTheDevice(BubblewrapOptions& bubble);

}  // namespace hone
