// The judge: holds one problem's inputs and what the oracle expects, runs candidates in workers, decides and times. It
// never runs a candidate's code itself. Lives in a process of its own (judge_main.h) for the length of a run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "judge/device_trial.h"
#include "judge/dice.h"
#include "judge/host_trial.h"
#include "judge/machine_load.h"
#include "judge/outside_baseline.h"
#include "judge/timing.h"
#include "judge/trial.h"
#include "judge/worker_process.h"
#include "problem/problem.h"
#include "target/cuda/nvml.h"
#include "verdict/verdict.h"

namespace hone {

struct JudgeOptions {
  std::string program;  // that has the verb "worker"
  int threads = 1;
  Dice dice;  // of the first evaluation
  SandboxPolicy sandbox = SandboxPolicy::kAuto;
  std::chrono::milliseconds call_wall{10'000};  // for one call of a candidate; raised to 4 times the naive baseline's
  std::vector<OutsideBaseline> outside;
  Form form = Form::kModule;                                              // of what is judged first, probably
  std::function<void(std::string_view)> stage = [](std::string_view) {};  // told what is being done
};

// Beyond the budget of a timing, for a quiet moment. Half of it after each time that none came: a machine that is
// always busy is not waited for again and again.
inline constexpr double kPatienceUs = 3e6;

struct JudgeRequest {
  Form form = Form::kModule;
  std::string library;  // a compiled module, or a built plan
  bool time = true;
  std::chrono::milliseconds timing_budget{1000};
  double confidence = 0.02;
  std::vector<std::string> baselines;
  bool fresh_draws = false;
  bool range_full = false;                     // the very wide draw refuses, too, and no draw goes by the norm
  double best_us = 0;                          // of EvaluateRequest
  std::map<std::string, KnownBaseline> known;  // of `baselines`: these are not timed
  std::map<std::string, double> earlier_us;    // of the others, as far as they are kept: their medians
  double bound_us = 0;                         // nobody is below it, 0 = unknown
};

// Not thread-safe, apart from the interrupt flag.
class Judge {
 public:
  // Compiles the oracle for candidates of options.form; that for others when the first one comes. Draws and their
  // expected values are made as they are needed.
  static Result<std::unique_ptr<Judge>> Open(Problem problem, JudgeOptions options, const std::atomic<bool>* interrupt);

  // Fails with kTimeout "interrupted" when the flag is set.
  Result<Evaluation> Evaluate(const JudgeRequest& request);

 private:
  struct Checking;
  Judge(Graph graph, JudgeOptions options, const std::atomic<bool>* interrupt);
  // Where candidates of this form run; `trial_` from then on.
  Result<void> Enter(Form form);
  // The question that loads a candidate. Of a plan whose inputs shall be guarded a write to them is a fault; otherwise
  // it is found, and named, afterwards.
  static Result<Request> Loading(Form form, const std::string& library, bool guard_inputs);
  // A worker for a plan is started before it is needed: opening a device takes it a tenth of a second.
  void StartSpare();
  // A worker that has served a plan to its end serves the next one: all that its process runs is ours, and unloading
  // leaves nothing of a plan behind. Not when a winner is confirmed: that is done by workers that have seen nothing.
  void TakeBack(WorkerProcess worker, const JudgeRequest& request);
  // A worker of a module on a device that answers: in bubblewrap, and where the driver does not work in there, without.
  Result<WorkerProcess> StartOnDevice(WorkerOptions options, const WorkerSetup& setup, int outputs_descriptor);
  Result<WorkerProcess> StartWorker(Form form, const std::string& library, IdleThreads idle, int outputs_descriptor);
  Result<void> Check(const JudgeRequest& request, Evaluation& evaluation, double& call_us);
  // The two runs of one draw, compared; false when the candidate is refused.
  Result<bool> CheckDraw(Checking& checking, std::size_t which);
  // Looks again, later, at outputs that were refused as `seen`: when they have changed, the work went on after the
  // return, which is then the verdict.
  Result<bool> StillWrites(Checking& checking, const DrawnInputs& drawn, std::size_t slot, std::uint16_t poison,
                           const Verdict& seen);
  Result<bool> CheckSoak(Checking& checking);
  Result<void> Time(const JudgeRequest& request, Evaluation& evaluation, double call_us);
  // The worst of all outputs in `slot` against `drawn`, or a trespass; fills the verdict and returns false when it
  // refuses.
  Result<bool> CompareSlot(const DrawnInputs& drawn, std::size_t slot, std::uint16_t poison, Verdict& verdict);
  // Whether a module on a device waits for its stream: what it does before, no clock sees. False when it is refused.
  Result<bool> CheckOrder(Checking& checking, const DrawnInputs& drawn);
  // Whether wrong outputs become right when shared memory is left as it was: says so in the verdict.
  Result<void> TrySharedMemory(Checking& checking, const DrawnInputs& drawn);
  // False, and the verdict, when the candidate has written to the inputs in `slot` or to the parameters.
  Result<bool> InputsAreWhole(const DrawnInputs& drawn, std::size_t slot, Verdict& verdict);
  Result<std::vector<JudgedDraw>> JudgedDraws();
  // Right after a timed call on a draw; false, and the verdict, if it refuses.
  Result<bool> LookAtTimedCall(const DrawnInputs& drawn, std::size_t slot, Verdict& verdict);
  // What others do to candidates; `ours_s` is of all that works for us.
  MachineLoad WatchMachine(std::function<double()> ours_s) const;
  Result<Participant*> Baseline(const std::string& name);
  Result<std::shared_ptr<OutsideProcess>> Process(const OutsideBaseline& baseline);

  Graph graph_;
  std::unique_ptr<HostTrial> host_;
  std::unique_ptr<DeviceTrial> device_;
  Trial* trial_ = nullptr;     // one of them
  Form form_ = Form::kModule;  // of what is judged
  JudgeOptions options_;
  Dice dice_;
  const std::atomic<bool>* interrupt_;
  bool full_range_ = false;  // being right by the norm of the error is not enough
  std::int64_t flush_bytes_ = 0;
  std::chrono::milliseconds call_wall_;
  bool clock_doubted_ = false;      // the last timing ended since the candidate's clock seemed to lie
  std::deque<WorkerProcess> idle_;  // for plans; who waits longest is the next to work
  std::optional<cuda::Nvml> nvml_;  // of the device, where it is to be had
  int served_ = 0;                  // plans that such workers have served to their end
  bool device_wraps_ = true;        // bubblewrap and the device's driver go together, for all that we know
  std::map<std::string, std::unique_ptr<Participant>> baselines_;
  std::map<std::vector<std::string>, std::shared_ptr<OutsideProcess>> outside_;  // by what they were started with
  std::map<std::string, std::vector<double>> kept_;     // warm times of the baselines in microseconds, the latest last
  std::map<std::string, std::vector<double>> medians_;  // of them, one an evaluation in which they were timed
  double patience_us_ = kPatienceUs;                    // how long a quiet moment is waited for beyond the budget
};

}  // namespace hone
