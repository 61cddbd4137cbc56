// The judge's handle of one worker: starts it in its sandbox, asks it, and turns every way in which it can end into a
// verdict.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bubblewrap.h"
#include "base/process.h"
#include "base/result.h"
#include "protocol/protocol.h"
#include "verdict/verdict.h"

namespace hone {

enum class SandboxPolicy {
  kAuto,      // bubblewrap where it works; the evaluation says what held the candidate
  kRequired,  // fail where bubblewrap does not work
  kProcess,   // no bubblewrap: limits and the system call filter alone
};

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

// What came of a question. Without a reply the worker is gone and `verdict` says why; `interrupted` excepted.
struct WorkerAnswer {
  std::optional<Reply> reply;
  Verdict verdict;
  bool interrupted = false;
  std::uint64_t wall_ns = 0;  // from asking to the answer, by our clock
};

// Not thread-safe. Movable; the destructor kills the worker and waits until it is gone.
class WorkerProcess {
 public:
  // setup.library is the path as we see it. The descriptors stay the caller's. Fails if the worker cannot be started:
  // the candidate is not loaded yet and not to blame.
  static Result<WorkerProcess> Start(const WorkerOptions& options, WorkerSetup setup, int inputs_fd, int outputs_fd);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();

  WorkerAnswer Ask(Request request, std::chrono::milliseconds wall);

  // While stopped it uses no processor. Ask only after Continue.
  void Stop();
  void Continue();
  // Processor time of all its threads, or 0 if the system does not say.
  std::uint64_t ProcessorNanoseconds() const;
  // Whether any of its threads computes, or would if it were given a processor.
  bool Busy() const;
  std::string sandbox() const { return sandbox_; }  // "bubblewrap + seccomp"
  bool wrapped() const { return wrapped_; }         // in bubblewrap
  std::string Log() const;                          // what it has printed so far, printable characters only
  void Kill();

 private:
  WorkerProcess(Child child, WorkerSetup setup) : child_(std::move(child)), setup_(std::move(setup)) {}
  std::optional<Reply> Receive(std::chrono::milliseconds wall, bool& timed_out, bool& interrupted, pid_t* sender);
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
