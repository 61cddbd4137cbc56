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
#include "judge/energy_windows.h"
#include "judge/examination.h"
#include "judge/host_trial.h"
#include "judge/machine_load.h"
#include "judge/outside_baseline.h"
#include "judge/own_baseline.h"
#include "judge/race.h"
#include "judge/timing.h"
#include "judge/trial.h"
#include "judge/worker_process.h"
#include "problem/problem.h"
#include "target/cuda/nvml.h"
#include "target/energy_counter.h"
#include "verdict/refusal.h"
#include "verdict/request.h"

namespace hone {

struct JudgeOptions {
  std::string program;  // that has the verb "worker"
  int threads = 1;      // of candidates, baselines and the oracle
  std::string dice;     // those that a result names, to repeat an evaluation (dice.h); empty = new ones
  SandboxPolicy sandbox = SandboxPolicy::kAuto;
  std::chrono::milliseconds call_wall{10'000};  // for one call of a candidate; raised to 4 times the naive baseline's
  std::vector<OutsideBaseline> outside;
  // Names of those that will be asked for, the likeliest first: their programs are started before that.
  std::vector<std::string> expected;
  Form form = Form::kModule;  // of what is judged first, probably: it gets ready for that
  // Told what is being done whenever that changes, "expected outputs 25 %".
  std::function<void(std::string_view)> stage = [](std::string_view) {};
};

// Beyond the budget of a timing, for a quiet moment. Half of it after each time that none came: a machine that is
// always busy is not waited for again and again.
inline constexpr double kPatienceUs = 3e6;

struct JudgeRequest {
  Form form = Form::kModule;
  std::string library;  // a compiled module, or a built plan
  bool ours = false;    // a plan that a program of the kernel language became: no line of it is anybody else's
  EvaluateRequest asked;
  std::map<std::string, KnownBaseline> known;  // of asked.baselines: these are not timed
  std::map<std::string, double> earlier_us;    // of the others, as far as they are kept: their medians
};

// One of those whose energy is measured, which the judge has accepted before.
struct EnergyCandidate {
  Form form = Form::kModule;
  std::string library;
  double call_us = 0;  // as it was timed, warm
};

struct EnergyQuestion {
  std::vector<EnergyCandidate> candidates;  // of one target
  EnergyRequest asked;
};

// Of the device with this UUID; of the processors where it is empty.
Result<std::unique_ptr<EnergyCounter>> OpenCounterOf(const std::string& uuid);

// Whom it works with. Tests have others: workers that are no processes, an oracle that no compiler makes.
struct JudgeWorld {
  std::function<Result<std::unique_ptr<Worker>>(const WorkerOptions&, WorkerSetup, int inputs_fd, int outputs_fd)>
      start_worker = WorkerProcess::Start;
  HostTrial::MakeOracle make_oracle = HostTrial::CompileOracle;
  std::function<Result<std::unique_ptr<EnergyCounter>>(const std::string& uuid)> open_energy = OpenCounterOf;
};

// Not thread-safe, apart from the interrupt flag.
class Judge {
 public:
  // What touches no device, whoever holds that: baselines that are expected are started, and what is written for the
  // device's oracle is compiled into the build cache, at a lower priority than the caller's. GetReady comes next.
  static Result<std::unique_ptr<Judge>> Begin(Problem problem, JudgeOptions options, const std::atomic<bool>* interrupt,
                                              JudgeWorld world = {});
  // Opens the device, or compiles the host's oracle, for candidates of options.form; that for others when the first one
  // comes. Draws and their expected values are made as they are needed.
  Result<void> GetReady();
  // Both.
  static Result<std::unique_ptr<Judge>> Open(Problem problem, JudgeOptions options, const std::atomic<bool>* interrupt,
                                             JudgeWorld world = {});

  // Fails with kInterrupted when the flag is set.
  Result<Evaluation> Evaluate(const JudgeRequest& request);

  // Why nobody can measure energy of what is judged; empty where it can be.
  std::string WhyNoEnergy();
  // One result for each candidate, in their order. Takes seconds for each window; fails as Evaluate does.
  Result<std::vector<EnergyOrWhy>> MeasureEnergy(const EnergyQuestion& question);

 private:
  struct Checked {
    Verdict verdict;
    double call_us = 0;  // of the last draw, if it is accepted
  };
  struct Timed {
    Refusal refusal;
    Timing timing;  // whole if it is not refused
    std::vector<std::string> notes;
    bool doubtful = false;  // TimedCandidate::doubtful
  };
  Judge(Graph graph, JudgeOptions options, const Dice& dice, JudgeWorld world, const std::atomic<bool>* interrupt);
  void CompileAhead();
  // Where candidates of this form run; `trial_` from then on.
  Result<void> Enter(Form form);

  // --- Workers
  // The question that loads a candidate. Of a plan whose inputs shall be guarded a write to them is a fault; otherwise
  // it is found, and named, afterwards.
  static Result<Request> LoadingQuestion(Form form, const std::string& library, bool guard_inputs);
  // A worker for a plan is started before it is needed: opening a device takes it a tenth of a second.
  void StartSpare();
  // A worker that has served a plan to its end serves the next one: all that its process runs is ours, and unloading
  // leaves nothing of a plan behind. Where a winner is confirmed, or one has served before, whose kernels are somebody
  // else's, that is done by workers that have seen nothing.
  void TakeBack(std::unique_ptr<Worker> worker, const JudgeRequest& request);
  // A worker of a module on a device that answers: in bubblewrap, and where the driver does not work in there, without.
  Result<std::unique_ptr<Worker>> StartOnDevice(WorkerOptions options, const WorkerSetup& setup,
                                                int outputs_descriptor);
  Result<std::unique_ptr<Worker>> StartWorker(Form form, const std::string& library, IdleThreads idle,
                                              int outputs_descriptor);
  Examination Examine(Worker& worker, const JudgeRequest& request) const;

  // --- Is it right?
  Result<Checked> Check(const JudgeRequest& request, Evaluation& evaluation);
  // What a draw takes a device's oracle, roughly: the same on any device, since decisions come of it. Of the host's
  // nothing is known.
  double DrawSeconds();
  bool FewDraws(const JudgeRequest& request);  // for a first look: one draw is timed, and fewer decide
  Result<Refusal> CheckLoaded(Examination& examination, const std::vector<std::size_t>& draws);
  Result<Refusal> CheckDraw(Examination& examination, std::size_t which);
  // Many calls in a row, then one that is looked at, on a draw that is at hand: `last` is the one that was checked
  // last.
  Result<Refusal> Soak(Examination& examination, std::size_t last);

  // --- How fast is it? (judge_timing.cc)
  Result<Timed> Time(const JudgeRequest& request, double call_us);
  Result<std::vector<JudgedDraw>> JudgedDraws(bool few);
  // The baselines that are asked for and not known, ready to take turns; what is missing goes into the notes.
  Result<std::vector<Series>> ReadyBaselines(const JudgeRequest& request, std::vector<std::string>& notes);
  Result<void> MakeReady(Series& one, double budget_us);
  // What others do to those who race.
  MachineLoad WatchRace(const std::vector<Series>& series) const;
  // Speed-ups over the baselines, in the order in which they were asked for.
  void CompareAll(const JudgeRequest& request, const std::vector<Series>& series, Dispatch dispatch, Timing& timing);
  // `ours_s` is of all that works for us.
  MachineLoad WatchMachine(std::function<double()> ours_s) const;
  Result<Participant*> Baseline(const std::string& name);
  Result<std::unique_ptr<Participant>> NaiveBaseline();
  Result<std::shared_ptr<OutsideProcess>> Process(const OutsideBaseline& baseline);
  std::shared_ptr<OutsideProcess>& ProcessOf(const OutsideBaseline& baseline);  // null: it is not started
  // Starts the programs of those baselines without waiting for them, but users' own: they touch no device yet.
  void BeginOutside(const std::vector<std::string>& names);
  // Lets each program that was begun get the first of these modes ready that it has.
  void ExpectOutside(const std::vector<std::string>& names);
  // Nothing of them is at work any more: nobody is checked or timed beside one that gets ready.
  Result<void> SettleOutside();
  // Of a module that the user brought: it is held against the oracle whenever it starts.
  Result<std::shared_ptr<OutsideProcess>> OwnProcess(const OutsideBaseline& baseline);

  // --- What does it use? (judge_energy.cc)
  struct TakenWindow {
    EnergyWindow window;
    double call_us = 0;  // in it, by our clock
  };
  Result<EnergyCounter*> Counter();   // of where candidates run now
  std::optional<double> JoulesNow();  // by it; nothing where there is none, or it does not say
  Result<std::optional<double>> IdleWatts(EnergyCounter& counter);
  Result<tl::expected<TakenWindow, std::string>> TakeWindow(EnergyCounter& counter, const EnergyCandidate& candidate,
                                                            std::chrono::milliseconds least);
  static Energy EnergyOf(const std::vector<TakenWindow>& taken, std::optional<double> idle_watts, std::string sensor);

  Graph graph_;
  std::unique_ptr<HostTrial> host_;
  std::unique_ptr<DeviceTrial> device_;
  Trial* trial_ = nullptr;     // one of them
  Form form_ = Form::kModule;  // of what is judged
  JudgeOptions options_;
  Dice dice_;
  JudgeWorld world_;
  const std::atomic<bool>* interrupt_;
  std::int64_t flush_bytes_ = 0;
  std::chrono::milliseconds call_wall_;
  std::deque<std::unique_ptr<Worker>> idle_;                    // for plans; who waits longest is the next to work
  std::optional<cuda::Nvml> nvml_;                              // of the device, where it is to be had
  std::unique_ptr<EnergyCounter> device_energy_, host_energy_;  // once somebody has asked
  double energy_tick_s_ = 0.1;                                  // as it was seen last; at first the longest known
  int served_ = 0;                                              // plans that such workers have served to their end
  bool idle_saw_others_ = false;                                // plans that are not ours
  bool fresh_ = false;                                          // the draws are of those who are confirmed
  std::optional<double> draw_s_;                                // DrawSeconds, once it was asked for
  bool device_wraps_ = true;  // bubblewrap and the device's driver go together, for all that we know
  std::map<std::string, std::unique_ptr<Participant>> baselines_;
  std::map<std::vector<std::string>, std::shared_ptr<OutsideProcess>> outside_;  // by what they were started with
  std::map<std::string, Result<HeldBaseline>> held_;    // modules that the user brought, by the baselines' names
  std::map<std::string, std::vector<double>> kept_;     // warm times of the baselines in microseconds, the latest last
  std::map<std::string, std::vector<double>> medians_;  // of them, one an evaluation in which they were timed
  double patience_us_ = kPatienceUs;                    // how long a quiet moment is waited for beyond the budget
};

}  // namespace hone
