// A worker that is no process: a function of the test's stands for the candidate, and works in the judge's memory as a
// module in its process would. What a worker says of itself, and how it ends, the test decides. For tests only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "judge/gate.h"
#include "judge/judge.h"
#include "judge/worker.h"

namespace hone::testing {

// One call of the candidate, for which all tensors hold floats.
struct FakeCall {
  std::vector<const float*> inputs, parameters;
  std::vector<float*> outputs;
  std::size_t count = 0;  // elements of the first output
  std::uint32_t view = 0;
  std::size_t before = 0;  // calls that this worker was asked for earlier
  bool timed = false;
};

// What the test controls; shared by all workers of one judge. Times are microseconds by the fake clock.
struct FakeCandidate {
  std::function<void(const FakeCall&)> run = [](const FakeCall&) {};
  std::function<double(const FakeCall&)> call_us = [](const FakeCall&) { return 100.0; };
  // Changes the reply to a question, or ends the worker with a verdict in its place.
  std::function<Refusal(const Request&, Reply&)> answer = [](const Request&, Reply&) { return Refusal(); };
  double lies_by = 1;                                 // our clock sees so many times what the worker's says
  std::function<bool()> busy = [] { return false; };  // whether a thread of it computes
  bool takes_time = false;                            // a timed call takes its time by the real clock, too
  std::uint64_t idle_ns = 0;                          // processor time that it uses from one look to the next
  double processors = 1;                              // that all of its threads together keep busy during a timed call
  bool interrupted = false;                           // somebody asks to stop
  std::vector<Ask> asked;                             // all questions so far
  int workers = 0;                                    // that were started
};

class FakeWorker : public Worker {
 public:
  FakeWorker(FakeCandidate& candidate, WorkerSetup setup, int inputs_fd, int outputs_fd);
  FakeWorker(const FakeWorker&) = delete;
  FakeWorker& operator=(const FakeWorker&) = delete;
  ~FakeWorker() override;

  Result<WorkerAnswer> Ask(Request request, std::chrono::milliseconds wall) override;
  void Stop() override {}
  void Continue() override {}
  std::uint64_t ProcessorNanoseconds() const override { return used_ns_ += candidate_.idle_ns; }
  bool Busy() const override { return candidate_.busy(); }
  std::string sandbox() const override { return "none"; }

 private:
  FakeCall CallOn(std::size_t from, std::size_t into, std::uint32_t view) const;
  double Run(const FakeCall& call);

  FakeCandidate& candidate_;
  WorkerSetup setup_;
  std::byte *inputs_ = nullptr, *outputs_ = nullptr;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  std::size_t calls_ = 0;
  mutable std::uint64_t used_ns_ = 0;
};

// What the court's device uses: `watts` by what is going on, seen every `tick_ms`. Real time.
struct FakeMeter {
  std::atomic<double> watts = 50;
  double tick_ms = 5;
  bool missing = false;
  std::function<void(double& joules)> change = [](double&) {};  // what the counter shows
};

// y = 2 x over 4096 floats, and a judge for it in whose world nothing is a process.
class FakeCourt {
 public:
  FakeCourt();
  FakeCourt(const FakeCourt&) = delete;
  FakeCourt& operator=(const FakeCourt&) = delete;

  static void Compute(const FakeCall& call);  // what is right

  FakeCandidate candidate;  // computes that, until the test gives it something else to do
  FakeMeter meter;
  std::vector<OutsideBaseline> outside;  // of JudgeOptions, as `expected`: before the judge is asked for anything
  std::vector<std::string> expected;

  Result<Evaluation> TryToEvaluate(const EvaluateRequest& asked);
  Evaluation Evaluate(const EvaluateRequest& asked);
  Verdict Check();                       // without timing
  Evaluation Time(double bound_us = 0);  // for 20 ms
  Judge& TheJudge();

  // An examination with a worker of its own, for gates that are asked one by one.
  const Graph& graph() const { return graph_; }
  Trial& trial() { return *trial_; }
  Examination Examine(Form form = Form::kModule);

 private:
  JudgeWorld World();
  Graph graph_;
  std::unique_ptr<HostTrial> trial_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Judge> judge_;
};

// The gate of this name; a test that asks for one that is not there fails.
const Gate& GateOf(std::string_view name);

}  // namespace hone::testing
