// Baselines that a program of its own runs and times, such as PyTorch's: it reads lines
// {"runs": N, "cold": false, "mode": "eager"} and answers each with {"ns": [N times]}, or with {"error": "..."}. One
// program may have several: its start takes seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "evaluate/timing.h"

namespace hone {

struct OutsideBaseline {
  std::string name;  // "eager"
  std::string mode;  // what the program calls it; empty: it knows one alone
  // Baselines that have these in common share a process.
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;
};

// Such a program at work. Not thread-safe.
class OutsideProcess {
 public:
  // What the program says on its standard error is read only to explain its end.
  static Result<std::shared_ptr<OutsideProcess>> Start(const Command& command, const std::atomic<bool>* interrupt);
  OutsideProcess(const OutsideProcess&) = delete;
  OutsideProcess& operator=(const OutsideProcess&) = delete;
  ~OutsideProcess();

  // Microseconds of each run.
  Result<std::vector<double>> Ask(const std::string& mode, int runs, bool cold);
  // No answer is to be had any more: it has ended, or an answer that comes too late would be taken for the next one's.
  bool lost() const { return lost_; }
  // Ends it, whatever it does: it is lost then.
  void End();
  void Stop();
  void Continue();

 private:
  OutsideProcess(Child child, int log, const std::atomic<bool>* interrupt)
      : child_(std::move(child)), log_(log), interrupt_(interrupt) {}
  std::string LastWords(const std::string& end) const;

  Child child_;
  int log_;
  const std::atomic<bool>* interrupt_;
  bool lost_ = false;
};

class OutsideParticipant : public Participant {
 public:
  OutsideParticipant(std::string mode, std::shared_ptr<OutsideProcess> process)
      : mode_(std::move(mode)), process_(std::move(process)) {}
  Result<Turn> Sample(std::chrono::microseconds slice, int cold) override;

 private:
  Result<std::vector<double>> Ask(int runs, bool cold);
  std::string mode_;
  std::shared_ptr<OutsideProcess> process_;
};

}  // namespace hone
