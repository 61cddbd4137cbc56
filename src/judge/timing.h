// Timing: participants take turns in rounds, in the same minute on the same machine, and those that are not at work are
// stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret_random.h"
#include "judge/trial.h"
#include "judge/worker.h"
#include "verdict/refusal.h"

namespace hone {

// What one turn brought: times of single calls in microseconds.
struct Turn {
  std::vector<double> warm_us, cold_us;
  // Of a baseline on a device, whose warm ones have it hidden: with what asking for the kernels takes.
  std::vector<double> dispatched_us;
};

// A turn, or why there is none: who has had it is out of the race then.
using Taken = tl::expected<Turn, Verdict>;

// Who is timed. Not thread-safe.
class Participant {
 public:
  virtual ~Participant() = default;
  // Warms up and samples for about `slice`: at least one warm sample, and `cold` cold ones.
  virtual Result<Taken> Sample(std::chrono::microseconds slice, int cold) = 0;
  // It has failed, or was refused: never ask it again.
  bool gone() const { return gone_; }
  // Somebody else's code runs in it, and nothing but limits holds that.
  virtual bool unconfined() const { return false; }
  virtual std::uint64_t ProcessorNanoseconds() const = 0;  // that it has used so far; 0 if the system does not say
  // Whose these are: participants that share processes give the same address.
  virtual const void* processes() const { return this; }
  double call_us() const { return call_us_; }  // the last known time of one call, 0 before the first turn

 protected:
  bool gone_ = false;
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
  // What a call on a draw has left in a slot, and what it has said.
  using Look = std::function<Result<Refusal>(const DrawnInputs&, std::size_t slot, const Reply&)>;

  // The worker is loaded and prepared. Each of `judged` is given once, in a turn that is chosen by chance.
  WorkerParticipant(std::unique_ptr<Worker> worker, std::unique_ptr<TimedSlots> slots,
                    std::chrono::milliseconds call_wall, SecretRandom random, std::vector<JudgedDraw> judged = {},
                    Look look = {});

  Result<Taken> Sample(std::chrono::microseconds slice, int cold) override;
  // One more turn, if draws are left that have not been given.
  Result<Refusal> Finish(std::chrono::microseconds slice);

  struct Shot {
    double call_us = 0;   // by the worker's clock
    double outer_us = 0;  // the whole question, by ours
  };
  // So many calls, one after the other, on what lies there: no sample, but to be held against our clock. `brief`: of
  // what is so short that sleeping threads would show.
  Result<tl::expected<Shot, Verdict>> Repeat(std::uint32_t calls, bool brief);
  // Microseconds by our clock that a question takes there and back.
  Result<tl::expected<double, Verdict>> Ping();
  // And that the device takes to do next to nothing for us (TimedSlots::Touch).
  Result<double> Touch();

  std::uint64_t ProcessorNanoseconds() const override { return worker_->ProcessorNanoseconds(); }
  Worker& worker() { return *worker_; }
  std::unique_ptr<Worker> TakeWorker() { return std::move(worker_); }  // the last that is done with it
  bool batched() const;                        // a call is so short that the device is at work before it is asked for
  bool as_graph() const { return as_graph_; }  // Reply::as_graph of the last shot
  // What all of its threads have used during warm samples so far, and how long these took by our clock.
  struct Usage {
    double processor_us = 0, wall_us = 0;
  };
  const Usage& usage() const { return usage_; }
  // Warm samples so far in microseconds: on inputs that were all new, and on such that stayed but for a run.
  const std::vector<double>& new_us() const { return new_us_; }
  const std::vector<double>& stay_us() const { return stay_us_; }

 private:
  enum class Inputs { kNew, kStay };
  struct Given {
    const DrawnInputs* inputs;  // null: none
    std::uint32_t call;         // of the shot's
  };
  Result<tl::expected<Shot, Verdict>> Shoot(Request request, Inputs inputs, Given given = {});
  Result<Refusal> TakeTurn(std::chrono::microseconds slice, int cold, Turn& turn);
  Result<Refusal> TakeSample(const Request& request, Inputs inputs, Turn& turn, Given given = {});
  Result<Refusal> GiveDraw(const Request& request, Turn& turn);  // the last of judged_
  // A call that nobody times: what sleeps between calls is awake then.
  Result<Refusal> Rehearse();
  Result<WorkerAnswer> Ask(const Request& request, std::chrono::milliseconds wall);

  std::unique_ptr<Worker> worker_;
  std::unique_ptr<TimedSlots> slots_;
  std::chrono::milliseconds call_wall_;
  SecretRandom random_;
  std::vector<JudgedDraw> judged_;  // not given yet
  Look look_;
  std::vector<std::uint64_t> due_;  // turns of them, the next one last
  std::uint64_t turns_ = 0;         // so far
  std::vector<double> new_us_, stay_us_;
  Usage usage_;
  bool as_graph_ = false;
};

}  // namespace hone
