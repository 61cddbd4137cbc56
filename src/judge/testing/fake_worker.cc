#include "judge/testing/fake_worker.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/check.h"
#include "graph/testing/small_problem.h"

namespace hone::testing {
namespace {

std::byte* Map(int fd, std::size_t& bytes, int protection) {
  struct stat status{};
  HONE_CHECK(fstat(fd, &status) == 0, "the test's memory is no file");
  bytes = static_cast<std::size_t>(status.st_size);
  void* at = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  HONE_CHECK(at != MAP_FAILED, "the test's memory cannot be mapped");
  return static_cast<std::byte*>(at);
}

template <class T>
std::vector<T*> TensorsAt(std::byte* memory, const std::vector<Place>& places) {
  std::vector<T*> tensors;
  for (const Place& place : places) tensors.push_back(reinterpret_cast<T*>(memory + place.offset + place.data));
  return tensors;
}

// Adds up what is used between two looks, and shows it a tick at a time.
class FakeCounter final : public EnergyCounter {
 public:
  explicit FakeCounter(const FakeMeter& meter) : meter_(meter) {}

  Result<double> Joules() override {
    const auto now = std::chrono::steady_clock::now();
    used_ += meter_.watts * std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    if (std::chrono::duration<double, std::milli>(now - moved_).count() >= meter_.tick_ms) {
      moved_ = now;
      shown_ = used_;
      meter_.change(shown_);
    }
    return shown_;
  }
  std::string sensor() const override { return "a meter of the test's"; }

 private:
  const FakeMeter& meter_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now(), moved_ = looked_;
  double used_ = 0, shown_ = 0;
};

}  // namespace

FakeWorker::FakeWorker(FakeCandidate& candidate, WorkerSetup setup, int inputs_fd, int outputs_fd)
    : candidate_(candidate), setup_(std::move(setup)) {
  inputs_ = Map(inputs_fd, input_bytes_, PROT_READ);
  outputs_ = Map(outputs_fd, output_bytes_, PROT_READ | PROT_WRITE);
  ++candidate_.workers;
}

FakeWorker::~FakeWorker() {
  munmap(inputs_, input_bytes_);
  munmap(outputs_, output_bytes_);
}

FakeCall FakeWorker::CallOn(std::size_t from, std::size_t into, std::uint32_t view) const {
  return {.inputs = TensorsAt<const float>(inputs_, setup_.input_slots[from]),
          .parameters = TensorsAt<const float>(inputs_, setup_.parameter_places),
          .outputs = TensorsAt<float>(outputs_, setup_.output_slots[into]),
          .count = static_cast<std::size_t>(ElementCount(setup_.outputs[0].shape)),
          .view = view,
          .before = calls_};
}

double FakeWorker::Run(const FakeCall& call) {
  candidate_.run(call);
  ++calls_;
  return candidate_.call_us(call);
}

Result<WorkerAnswer> FakeWorker::Ask(Request request, std::chrono::milliseconds) {
  if (candidate_.interrupted) return Fail(ErrorKind::kInterrupted, "interrupted");
  candidate_.asked.push_back(request.ask);
  WorkerReply reply;
  double us = 0;
  if (request.ask == Ask::kRun) {
    for (std::uint32_t i = 0; i < request.count; ++i)
      us += Run(CallOn(request.slots[0], request.slots[1], request.view));
  } else if (request.ask == Ask::kTime) {
    for (std::uint32_t repeat = 0; repeat < request.repeats; ++repeat) {
      for (std::uint32_t i = 0; i < request.count; ++i) {
        FakeCall call = CallOn(request.slots[i], request.slots[i], request.view);
        call.timed = true;
        us += Run(call);
      }
    }
  }
  if (candidate_.takes_time && request.ask == Ask::kTime)
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
  if (request.ask == Ask::kTime) used_ns_ += static_cast<std::uint64_t>(1000 * us * candidate_.processors);
  reply.said.nanoseconds = static_cast<std::uint64_t>(1000 * us);
  reply.wall_ns = static_cast<std::uint64_t>(1000 * us * candidate_.lies_by);
  if (auto end = candidate_.answer(request, reply.said)) return WorkerAnswer(tl::unexpected(std::move(*end)));
  return WorkerAnswer(reply);
}

FakeCourt::FakeCourt()
    : graph_(SmallGraph("fp32", "x f32 64x64", "y f32 64x64",
                        R"([{"op": "aten.mul.Scalar", "args": {"self": "%x", "other": 2}, "outputs": ["y"]}])")) {
  candidate.run = Compute;
  auto trial = HostTrial::Create(graph_, World().make_oracle, 1, 1);
  HONE_CHECK(trial.has_value(), "the test's trial is not made");
  trial_ = std::move(*trial);
}

void FakeCourt::Compute(const FakeCall& call) {
  for (std::size_t i = 0; i < call.count; ++i) call.outputs[0][i] = 2 * call.inputs[0][i];
}

JudgeWorld FakeCourt::World() {
  JudgeWorld world;
  world.start_worker = [this](const WorkerOptions&, WorkerSetup setup, int inputs_fd, int outputs_fd) {
    return Result<std::unique_ptr<Worker>>(
        std::make_unique<FakeWorker>(candidate, std::move(setup), inputs_fd, outputs_fd));
  };
  world.make_oracle = [](const Graph& graph) -> Result<HostTrial::Expect> {
    const auto count = static_cast<std::size_t>(ElementCount(graph.problem().Outputs()[0]->shape));
    return [count](const std::vector<const void*>& inputs, int) -> Result<std::vector<Expected>> {
      Expected expected{.honest_ratio = 1};
      for (std::size_t i = 0; i < count; ++i) {
        expected.value.push_back(2 * static_cast<double>(static_cast<const float*>(inputs[0])[i]));
        expected.budget.push_back(1e-6 * std::max(1.0, std::abs(expected.value.back())));
        expected.scale.push_back(expected.budget.back() / kBudgetFactor);
      }
      return std::vector<Expected>{std::move(expected)};
    };
  };
  world.open_energy = [this](const std::string&) -> Result<std::unique_ptr<EnergyCounter>> {
    if (meter.missing) return Fail(ErrorKind::kNotFound, "the court has no meter");
    return std::make_unique<FakeCounter>(meter);
  };
  return world;
}

Judge& FakeCourt::TheJudge() {
  signal(SIGPIPE, SIG_IGN);  // as of a judge's process: a baseline may be gone when it is told something
  if (!judge_) {
    auto judge =
        Judge::Open(graph_.problem(), {.program = "none", .outside = outside, .expected = expected}, nullptr, World());
    HONE_CHECK(judge.has_value(), "the test's judge is not opened");
    judge_ = std::move(*judge);
  }
  return *judge_;
}

Result<Evaluation> FakeCourt::TryToEvaluate(const EvaluateRequest& asked) {
  return TheJudge().Evaluate({.library = "none", .asked = asked});
}

Evaluation FakeCourt::Evaluate(const EvaluateRequest& asked) {
  const auto evaluation = TryToEvaluate(asked);
  EXPECT_TRUE(evaluation) << evaluation.error().message;
  return evaluation.value_or(Evaluation());
}

Verdict FakeCourt::Check() { return Evaluate({.time = false}).verdict; }

Evaluation FakeCourt::Time(double bound_us) {
  return Evaluate({.timing_budget = std::chrono::milliseconds(20), .baselines = {}, .bound_us = bound_us});
}

Examination FakeCourt::Examine(Form form) {
  WorkerSetup setup = trial_->setup();
  worker_ = std::make_unique<FakeWorker>(candidate, std::move(setup), trial_->input_descriptor(),
                                         trial_->output_descriptor());
  return {*trial_, *worker_, {.form = form, .call_wall = std::chrono::seconds(1)}};
}

const Gate& GateOf(std::string_view name) {
  for (const Gate* gate : AllGates()) {
    if (gate->name == name) return *gate;
  }
  HONE_CHECK(false, "the test's gate is not there");
  std::abort();
}

}  // namespace hone::testing
