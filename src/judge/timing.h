// Timing: participants take turns in rounds, in the same minute on the same machine, and those that are not at work are
// stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/secret_random.h"
#include "judge/trial.h"
#include "judge/worker_process.h"
#include "verdict/verdict.h"

namespace hone {

// What one turn brought: times of single calls in microseconds.
struct Turn {
  std::vector<double> warm_us, cold_us;
  // Of a baseline on a device, whose warm ones have it hidden: with what asking for the kernels takes.
  std::vector<double> dispatched_us;
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
  // Somebody else's code runs in it, and nothing but limits holds that.
  virtual bool unconfined() const { return false; }
  virtual std::uint64_t ProcessorNanoseconds() const = 0;  // that it has used so far; 0 if the system does not say
  double call_us() const { return call_us_; }              // the last known time of one call, 0 before the first turn

 protected:
  std::optional<Verdict> refused_;
  double call_us_ = 0;
};

// A draw whose outputs the judge knows, for a call that looks like all others.
struct JudgedDraw {
  std::shared_ptr<const DrawnInputs> inputs;
  std::shared_ptr<const DrawnInputs> then;  // the same but for a run, for the call after it; or null
};

// A candidate in a worker. What is timed are calls on inputs that are new in all their elements, and that are not there
// before the clock starts: nothing is gained by remembering, nor by working while nobody looks at the clock. Some
// calls get inputs that stay as they were but for a run; who is clearly faster on those is refused.
class WorkerParticipant : public Participant {
 public:
  // What a call left in a slot; false, and the verdict, if it refuses the candidate.
  using Look = std::function<Result<bool>(const DrawnInputs&, std::size_t slot, Verdict&)>;

  // The worker is loaded and prepared. Each of `judged` is given once, in a turn that is chosen by chance.
  WorkerParticipant(WorkerProcess worker, std::unique_ptr<TimedSlots> slots, std::chrono::milliseconds call_wall,
                    SecretRandom random, std::vector<JudgedDraw> judged = {}, Look look = {});

  Result<Turn> Sample(std::chrono::microseconds slice, int cold) override;

  // One more turn, in which the draws are given that have not been, and what the turns have shown.
  Result<void> Finish(std::chrono::microseconds slice);
  // Holds the worker's clock against ours over calls that last some milliseconds.
  Result<void> CheckClock();
  std::uint64_t ProcessorNanoseconds() const override { return worker_.ProcessorNanoseconds(); }
  WorkerProcess& worker() { return worker_; }
  bool batched() const;                        // a call is so short that the device is at work before it is asked for
  bool as_graph() const { return as_graph_; }  // Reply::as_graph of the last shot

 private:
  struct Shot {
    double call_us = 0;   // by the worker's clock
    double outer_us = 0;  // the whole question, by ours
  };
  enum class Inputs { kNew, kStay };
  struct Given {
    const DrawnInputs* inputs;  // null: none
    std::uint32_t call;         // of the shot's
  };
  Result<std::optional<Shot>> Shoot(Request request, Inputs inputs, Given given = {});
  // Of the samples of a turn; false when refused.
  Result<bool> TakeSample(const Request& request, Inputs inputs, Turn& turn, Given given = {});
  Result<bool> GiveDraw(const Request& request, Turn& turn);  // the last of judged_
  // A call that nobody times: what sleeps between calls is awake then. False when refused.
  Result<bool> Rehearse();
  bool Answered(const WorkerAnswer& answer);  // if not, it is refused
  Result<double> Touch();                     // microseconds by our clock

  WorkerProcess worker_;
  std::unique_ptr<TimedSlots> slots_;
  std::chrono::milliseconds call_wall_;
  SecretRandom random_;
  std::vector<JudgedDraw> judged_;  // not given yet
  Look look_;
  std::vector<std::uint64_t> due_;        // turns of them, the next one last
  std::uint64_t turns_ = 0;               // so far
  std::vector<double> new_us_, stay_us_;  // warm samples so far, of either kind
  bool as_graph_ = false;
};

}  // namespace hone
