// Timing: participants take turns in rounds, in the same minute on the same machine, and those that are not at work are
// stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "base/result.h"
#include "evaluate/trial.h"
#include "evaluate/verdict.h"
#include "evaluate/worker_process.h"

namespace hone {

// What one turn brought: times of single calls in microseconds.
struct Turn {
  std::vector<double> warm_us, cold_us;
};

// Who is timed. Not thread-safe.
class Participant {
 public:
  virtual ~Participant() = default;
  // Warms up and samples for about `slice`: at least one warm sample, and `cold` cold ones. Nothing when refused() is
  // set.
  virtual Result<Turn> Sample(std::chrono::microseconds slice, int cold) = 0;
  // Why it is out of the race. Never ask it again then.
  const std::optional<Verdict>& refused() const { return refused_; }
  double call_us() const { return call_us_; }  // the last known time of one call, 0 before the first turn

 protected:
  std::optional<Verdict> refused_;
  double call_us_ = 0;
};

// A candidate in a worker. Every timed call works on other inputs than the call before it (TimedSlots); one of them,
// each as likely as any other, is kept.
class WorkerParticipant : public Participant {
 public:
  // The worker is loaded and prepared.
  WorkerParticipant(WorkerProcess worker, std::unique_ptr<TimedSlots> slots, std::chrono::milliseconds call_wall,
                    std::uint64_t seed);

  Result<Turn> Sample(std::chrono::microseconds slice, int cold) override;

  // Holds the worker's clock against ours over calls that last some milliseconds.
  Result<void> CheckClock();
  const TimedSlots& slots() const { return *slots_; }
  WorkerProcess& worker() { return worker_; }
  bool as_graph() const { return as_graph_; }  // Reply::as_graph of the last shot

 private:
  struct Shot {
    double call_us = 0;   // by the worker's clock
    double outer_us = 0;  // the whole question, by ours
  };
  // `touch`: the question is over when the slots' device has done something for us after it.
  Result<std::optional<Shot>> Shoot(Request request, bool touch = false);

  Result<double> Touch();  // microseconds by our clock

  WorkerProcess worker_;
  std::unique_ptr<TimedSlots> slots_;
  std::chrono::milliseconds call_wall_;
  std::mt19937_64 random_;
  std::vector<double> warm_us_;  // all samples so far
  std::uint64_t shots_ = 0;
  bool as_graph_ = false;
};

}  // namespace hone
