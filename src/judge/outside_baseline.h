// Baselines that a program of its own runs and times, such as PyTorch's: it reads lines
// {"runs": N, "ms": M, "cold": false, "mode": "eager"} and answers each with {"ns": [N times]}, fewer after M
// milliseconds, or with {"error": "..."}. "dispatched_ns" beside "ns": the same with what asking for kernels takes, of
// which "ns" is free. One program may have several: its start takes seconds, so it may be begun before it is needed. On
// a device its first line is {"open": true}: until then it touches no device, whoever holds that.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
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
  bool device = false;  // it works on a CUDA device; to "open" it says {"device": true} or why there is none
  bool own = false;  // a user's own module: the judge gives it its inputs, and looks at what it makes (own_baseline.h)
};

// Such a program at work. Not thread-safe.
class OutsideProcess {
 public:
  // What the program says on its standard error is read only to explain its end. With `required` it fails where the
  // program cannot be confined. `memory`: a descriptor that it gets as number 3, or -1; open until Open has returned.
  static Result<std::shared_ptr<OutsideProcess>> Start(const OutsideBaseline& baseline, bool required,
                                                       const std::atomic<bool>* interrupt, int memory = -1);
  // Starts it and waits for nothing. It touches no device before Open, Expect or Settle.
  static Result<std::shared_ptr<OutsideProcess>> Begin(const OutsideBaseline& baseline, bool required,
                                                       const std::atomic<bool>* interrupt, int memory = -1);
  // Of one that was begun: waits until it has the device. Where the sandbox has none it is started again without.
  Result<void> Open();
  bool opened() const { return opened_; }
  OutsideProcess(const OutsideProcess&) = delete;
  OutsideProcess& operator=(const OutsideProcess&) = delete;
  ~OutsideProcess();

  // Microseconds of each run. `most`: after that no other one is begun.
  struct Times {
    std::vector<double> us, dispatched_us;
  };
  Result<Times> Ask(const std::string& mode, int runs, bool cold,
                    std::chrono::microseconds most = std::chrono::hours(1));
  // Lets it get this mode ready, by a question whose answer Settle waits for.
  void Expect(const std::string& mode);
  // It does what Expect asked for: whoever is to be measured waits for it.
  bool expected() const { return expected_.has_value(); }
  // It has done that, and stands still until Continue. What goes wrong with it ends it, and is no answer: whoever needs
  // it starts it anew. Fails with kInterrupted.
  Result<void> Settle();
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
  OutsideProcess(const OutsideBaseline& baseline, bool required, const std::atomic<bool>* interrupt, int memory)
      : baseline_(baseline), required_(required), interrupt_(interrupt), memory_(memory) {}
  Result<void> Spawn(bool confined);
  void AskToOpen();
  // Takes the answer to AskToOpen: nothing if it has the device, else why not.
  Result<std::string> WhyNoDevice();
  Error NotConfined(const std::string& no_device) const;
  nlohmann::json TimesQuestion(const std::string& mode, int runs, bool cold, std::chrono::microseconds most) const;
  // The next line as an object, waited for until `end`.
  Result<nlohmann::json> NextAnswer(std::chrono::steady_clock::time_point end);
  std::string LastWords(const std::string& end) const;
  // In a sandbox the program is not in the child's process group.
  void LookForMembers();
  void Signal(int signal);

  const OutsideBaseline baseline_;
  const bool required_;
  const std::atomic<bool>* interrupt_;
  const int memory_;
  std::optional<Child> child_;
  int log_ = -1;
  bool opened_ = false, asked_to_open_ = false;
  bool unconfined_ = false;
  bool lost_ = false;
  std::optional<std::string> expected_;  // a mode that it was asked for, and has not answered yet
  std::set<std::string> asked_;          // modes
  std::map<pid_t, int> members_;         // processes below the child, and descriptors that stand for them
};

class OutsideParticipant : public Participant {
 public:
  OutsideParticipant(std::string mode, std::shared_ptr<OutsideProcess> process)
      : mode_(std::move(mode)), process_(std::move(process)) {}
  Result<Taken> Sample(std::chrono::microseconds slice, int cold) override;
  bool unconfined() const override { return process_->unconfined(); }
  std::uint64_t ProcessorNanoseconds() const override { return process_->ProcessorNanoseconds(); }
  const void* processes() const override { return process_.get(); }

 private:
  Result<OutsideProcess::Times> Ask(int runs, bool cold, std::chrono::microseconds most = std::chrono::hours(1));
  std::string mode_;
  std::shared_ptr<OutsideProcess> process_;
  double quickest_us_ = 0;  // the least median of a turn; 0 before the first
};

}  // namespace hone
