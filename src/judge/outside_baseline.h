// Baselines that a program of its own runs and times, such as PyTorch's: it reads lines
// {"runs": N, "ms": M, "cold": false, "mode": "eager"} and answers each with {"ns": [N times]}, fewer after M
// milliseconds, or with {"error": "..."}. "dispatched_ns" beside "ns": the same with what asking for kernels takes, of
// which "ns" is free. One program may have several: its start takes seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "judge/timing.h"

namespace hone {

struct OutsideBaseline {
  std::string name;  // "eager"
  std::string mode;  // what the program calls it; empty: it knows one alone
  // Baselines that have these in common share a process.
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;
  // Somebody else's code that the program runs: it is confined then (problem/import/confine.h) where that works. None:
  // all of it is ours.
  std::vector<std::string> files = {};
  bool device = false;  // it works on a CUDA device, and its first line says {"device": true} or why there is none
  bool own = false;  // a user's own module: the judge gives it its inputs, and looks at what it makes (own_baseline.h)
};

// Such a program at work. Not thread-safe.
class OutsideProcess {
 public:
  // What the program says on its standard error is read only to explain its end. With `required` it fails where the
  // program cannot be confined. `memory`: a descriptor that it gets as number 3, or -1.
  static Result<std::shared_ptr<OutsideProcess>> Start(const OutsideBaseline& baseline, bool required,
                                                       const std::atomic<bool>* interrupt, int memory = -1);
  OutsideProcess(const OutsideProcess&) = delete;
  OutsideProcess& operator=(const OutsideProcess&) = delete;
  ~OutsideProcess();

  // Microseconds of each run. `most`: after that no other one is begun.
  struct Times {
    std::vector<double> us, dispatched_us;
  };
  Result<Times> Ask(const std::string& mode, int runs, bool cold,
                    std::chrono::microseconds most = std::chrono::hours(1));
  // The answer to a question that is about no times. After it has failed no other one is asked.
  Result<nlohmann::json> Answer(const nlohmann::json& question);
  // Somebody else's code is in it, and nothing but limits holds that.
  bool unconfined() const { return unconfined_; }
  // Processor time of all of it, or 0 if the system does not say.
  std::uint64_t ProcessorNanoseconds() const;
  // No answer is to be had any more: it has ended, or an answer that comes too late would be taken for the next one's.
  bool lost() const { return lost_; }
  // Ends it, whatever it does: it is lost then.
  void End();
  void Stop();
  void Continue();

 private:
  OutsideProcess(Child child, int log, const std::atomic<bool>* interrupt)
      : child_(std::move(child)), log_(log), interrupt_(interrupt) {}
  static Result<std::shared_ptr<OutsideProcess>> Start(const OutsideBaseline& baseline, bool confined,
                                                       const std::atomic<bool>* interrupt, int memory,
                                                       std::string& no_device);
  // The next line as an object, waited for until `end`.
  Result<nlohmann::json> NextAnswer(std::chrono::steady_clock::time_point end);
  std::string LastWords(const std::string& end) const;
  // In a sandbox the program is not in the child's process group.
  void LookForMembers();
  void Signal(int signal);

  Child child_;
  int log_;
  const std::atomic<bool>* interrupt_;
  bool unconfined_ = false;
  bool lost_ = false;
  std::set<std::string> asked_;   // modes
  std::map<pid_t, int> members_;  // processes below the child, and descriptors that stand for them
};

class OutsideParticipant : public Participant {
 public:
  OutsideParticipant(std::string mode, std::shared_ptr<OutsideProcess> process)
      : mode_(std::move(mode)), process_(std::move(process)) {}
  Result<Taken> Sample(std::chrono::microseconds slice, int cold) override;
  bool unconfined() const override { return process_->unconfined(); }
  std::uint64_t ProcessorNanoseconds() const override { return process_->ProcessorNanoseconds(); }

 private:
  Result<OutsideProcess::Times> Ask(int runs, bool cold, std::chrono::microseconds most = std::chrono::hours(1));
  std::string mode_;
  std::shared_ptr<OutsideProcess> process_;
};

}  // namespace hone
