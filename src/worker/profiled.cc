#include "worker/profiled.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json_text.h"
#include "problem/problem.h"
#include "protocol/profiled.h"
#include "target/cuda/counters.h"
#include "target/cuda/driver.h"
#include "target/cuda/metrics.h"
#include "target/cuda/sampler.h"
#include "target/cuda/tracer.h"
#include "target/cuda/try.h"
#include "worker/cache_sweep.h"
#include "worker/placed_tensors.h"
#include "worker/profiled_candidate.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;
using cuda::TracedEvent;
template <class T>
using Try = cuda::Try<T>;

constexpr int kRuns = 5;            // of which the timeline is the one in the middle
constexpr int kSamplePeriod = 10;   // 2^10 cycles of a multiprocessor between two samples
constexpr int kMostKernels = 1024;  // that are counted: each runs several times
// A library that waits for the device while it is asked would wait for ever.
constexpr auto kLongestHold = std::chrono::milliseconds(50);

double Ms(Clock::time_point since) { return std::chrono::duration<double, std::milli>(Clock::now() - since).count(); }

// All of a run is asked for before any of it begins, so that what lies between two kernels is the device's.
Result<std::vector<TracedEvent>> RecordRun(cuda::Context& context, cuda::Tracer& tracer,
                                           const std::function<Try<void>()>& run) {
  std::atomic<bool> go = false;
  HONE_TRY(FromDevice(context.CallFromStream(
      [](void* flag) {
        const auto end = Clock::now() + kLongestHold;
        while (!static_cast<std::atomic<bool>*>(flag)->load() && Clock::now() < end) {
        }
      },
      &go)));
  auto asked = FromDevice(run());
  go = true;
  const auto waited = FromDevice(context.WaitAll());
  HONE_TRY(std::move(asked));
  HONE_TRY(waited);
  return tracer.Take();
}

std::uint64_t SpanOf(const std::vector<TracedEvent>& events) {
  std::uint64_t end = 0;
  for (const TracedEvent& event : events) end = std::max(end, event.end_ns);
  return events.empty() ? 0 : end - events.front().begin_ns;
}

Result<std::vector<TracedEvent>> MiddleRun(cuda::Context& context, cuda::Tracer& tracer,
                                           const std::function<Try<void>()>& run) {
  std::vector<std::vector<TracedEvent>> runs;
  for (int i = 0; i < kRuns; ++i) runs.push_back(HONE_TRY(RecordRun(context, tracer, run)));
  std::nth_element(runs.begin(), runs.begin() + kRuns / 2, runs.end(),
                   [](const auto& a, const auto& b) { return SpanOf(a) < SpanOf(b); });
  return std::move(runs[kRuns / 2]);
}

// Of which step each event of a run is: what each of them launches when it runs alone.
Result<std::vector<int>> StepsOfEvents(cuda::Context& context, cuda::Tracer& tracer, ProfiledCandidate& candidate) {
  std::vector<int> steps;
  for (std::size_t step = 0; step < candidate.steps(); ++step) {
    const auto events = HONE_TRY(RecordRun(context, tracer, [&] { return candidate.RunStep(step); }));
    steps.insert(steps.end(), events.size(), static_cast<int>(step));
  }
  return steps;
}

Result<void> AddTimeline(cuda::Context& context, ProfiledCandidate& candidate, ProfiledReport& report) {
  const auto tracer = HONE_TRY(cuda::Tracer::Start());
  const auto steps = HONE_TRY(StepsOfEvents(context, *tracer, candidate));
  auto events = HONE_TRY(MiddleRun(context, *tracer, [&] { return candidate.Run(); }));
  if (candidate.has_graph()) {
    const auto graph = [&] { return candidate.RunGraph(); };
    HONE_TRY(FromDevice(graph()));  // makes it
    HONE_TRY(FromDevice(context.WaitAll()));
    HONE_TRY(tracer->Take());
    auto as_graph = HONE_TRY(MiddleRun(context, *tracer, graph));
    if (as_graph.size() == events.size() && SpanOf(as_graph) < SpanOf(events)) {
      events = std::move(as_graph);
      report.as_graph = true;
    }
  }
  // A step that begins early waits for the one before: its time is from then on.
  for (std::size_t i = 1; i < events.size() && steps.size() == events.size(); ++i)
    events[i].begin_ns = std::clamp(events[i - 1].end_ns, events[i].begin_ns, events[i].end_ns);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto us = [&](std::uint64_t ns) { return static_cast<double>(ns - events.front().begin_ns) / 1000; };
    report.timeline.push_back({.step = steps.size() == events.size() ? steps[i] : -1,
                               .kind = static_cast<EventKind>(events[i].kind),
                               .name = events[i].name,
                               .begin_us = us(events[i].begin_ns),
                               .end_us = us(events[i].end_ns),
                               .grid = {events[i].grid.begin(), events[i].grid.end()},
                               .block = {events[i].block.begin(), events[i].block.end()},
                               .shared_bytes = events[i].shared_bytes});
  }
  return {};
}

// The kernels of a run in order, as far as they are known: as they were recorded, else as the plan launches them.
std::vector<CountedKernel> KernelsOf(const ProfiledCandidate& candidate, const ProfiledReport& report) {
  std::vector<CountedKernel> kernels;
  for (const TimelineEvent& event : report.timeline) {
    if (event.kind == EventKind::kKernel) kernels.push_back({event.step, event.name, {}});
  }
  return kernels.empty() ? candidate.Kernels() : kernels;
}

// Of one problem: what no candidate is needed for is made once.
class Session {
 public:
  static Result<std::unique_ptr<Session>> Open(const ProfiledSetup& setup) {
    auto begin = Clock::now();
    if (!setup.cupti.empty()) cuda::UseCupti(setup.cupti);
    auto session = std::make_unique<Session>();
    session->problem_ = HONE_TRY(ParseProblem(setup.problem, "the problem"));
    session->problem_.folder = setup.folder;
    session->context_ = HONE_TRY(FromDevice(cuda::Context::Open(0)));
    session->ready_ms_["context"] = Ms(begin);
    begin = Clock::now();
    session->placed_ = HONE_TRY(PlaceTensors(*session->context_, session->problem_));
    OpenGaps(*session->context_, session->placed_);
    session->ready_ms_["inputs"] = Ms(begin);
    return session;
  }

  Result<ProfiledReport> Profile(const ProfiledQuestion& question) {
    ProfiledReport report;
    report.milliseconds = std::exchange(ready_ms_, {});
    auto begin = Clock::now();
    const auto part = [&](const char* name) {
      report.milliseconds[name] = Ms(begin);
      begin = Clock::now();
    };
    if (question.samples) {
      if (const auto added = AddSamples(question, report); !added) report.no_samples = added.error().message;
      part("samples");
    }
    const auto candidate = HONE_TRY(ProfiledCandidate::Load(*context_, question.form, question.built, placed_));
    HONE_TRY(FromDevice(candidate->Run()));  // what happens the first time alone
    HONE_TRY(FromDevice(context_->WaitAll()));
    part("candidate");
    if (question.watched) {
      HONE_TRY(FromDevice(context_->BeginWatched()));
      HONE_TRY(FromDevice(candidate->Run()));
      HONE_TRY(FromDevice(context_->WaitAll()));
      HONE_TRY(FromDevice(context_->EndWatched()));
    }
    if (question.timeline) {
      if (const auto added = AddTimeline(*context_, *candidate, report); !added)
        report.no_timeline = added.error().message;
      part("timeline");
    }
    if (!question.metrics.empty()) {
      if (const auto added = AddCounters(*candidate, question, report); !added)
        report.no_counters = added.error().message;
      part("counters");
    }
    HONE_TRY(FromDevice(context_->WaitAll()));  // a fault leaves nothing for those that come
    return report;
  }

 private:
  // Kept: getting ready takes longer than counting.
  Result<cuda::Counters*> CountersOf(const std::vector<std::string>& metrics, ProfiledReport& report) {
    if (counters_ && asked_ == metrics) return counters_.get();
    const auto begin = Clock::now();
    counters_.reset();
    counters_ = HONE_TRY(cuda::Counters::Open(*context_, metrics));
    asked_ = metrics;
    report.milliseconds["counters ready"] = Ms(begin);
    return counters_.get();
  }

  Result<void> AddCounters(ProfiledCandidate& candidate, const ProfiledQuestion& question, ProfiledReport& report) {
    auto kernels = KernelsOf(candidate, report);
    int most = report.timeline.empty() ? candidate.MostKernels() : static_cast<int>(kernels.size());
    if (most > kMostKernels) {
      return Fail(ErrorKind::kUsage, "a run launches " + std::to_string(most) + " kernels, of which at most " +
                                         std::to_string(kMostKernels) + " are counted");
    }
    std::function<Try<void>()> run = [&] { return candidate.Run(); };
    std::vector<bool> swept;  // of what is counted, the sweeps
    if (!question.sweep.empty()) {
      if (!sweep_) sweep_ = HONE_TRY(CacheSweep::Open(*context_, HONE_TRY(ReadFile(question.sweep))));
      swept = HONE_TRY(SweepsOf(candidate, kernels));
      most = static_cast<int>(swept.size());
      run = [&] { return RunSwept(candidate); };
    }
    auto* counters = HONE_TRY(CountersOf(question.metrics, report));
    const auto begin = Clock::now();
    auto counted = counters->Count(std::max(most, 1), cuda::Replay::kRun, run);
    if (!counted && question.sweep.empty()) {
      report.why_kernel_replay = counted.error().message;
      counted = counters->Count(std::max(most, 1), cuda::Replay::kKernel, run);
    }
    auto rows = HONE_TRY(std::move(counted));
    report.milliseconds["counting"] = Ms(begin);
    if (!question.sweep.empty()) {
      if (rows.size() != swept.size())
        return Fail(ErrorKind::kDevice, "a run launched other kernels while it was counted than when it was recorded");
      for (std::size_t i = rows.size(); i-- > 0;) {
        if (swept[i]) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    report.chip = counters->chip();
    report.metrics = counters->metrics();
    report.passes = counters->passes();
    if (kernels.size() != rows.size()) kernels.assign(rows.size(), {});  // nobody knows which is which
    for (std::size_t i = 0; i < rows.size(); ++i) kernels[i].values = std::move(rows[i]);
    report.kernels = std::move(kernels);
    return {};
  }

  // What a run that is swept before each of its steps launches: true for a sweep.
  static Result<std::vector<bool>> SweepsOf(const ProfiledCandidate& candidate,
                                            const std::vector<CountedKernel>& kernels) {
    if (candidate.steps() == 0) {  // a module: it is swept before all of it
      std::vector<bool> before_all(kernels.size() + 1, false);
      before_all.front() = true;
      return before_all;
    }
    std::vector<bool> swept;
    std::size_t kernel = 0;
    for (std::size_t step = 0; step < candidate.steps(); ++step) {
      if (!candidate.launches(step)) continue;
      swept.push_back(true);
      for (; kernel < kernels.size() && kernels[kernel].step == static_cast<int>(step); ++kernel)
        swept.push_back(false);
    }
    if (kernel < kernels.size() || kernels.empty())
      return Fail(ErrorKind::kUsage, "nobody knows of which step each kernel is, so no cache is swept between them");
    return swept;
  }

  Try<void> RunSwept(ProfiledCandidate& candidate) {
    if (candidate.steps() == 0) {
      HONE_GPU(sweep_->Ask());
      return candidate.Run();
    }
    for (std::size_t step = 0; step < candidate.steps(); ++step) {
      if (candidate.launches(step)) HONE_GPU(sweep_->Ask());
      HONE_GPU(candidate.RunStep(step));
    }
    return {};
  }

  // Loads the candidate anew: CUPTI knows no function of a module that was there before it was to take samples.
  Result<void> AddSamples(const ProfiledQuestion& question, ProfiledReport& report) {
    counters_.reset();  // CUPTI does one of the two at a time
    std::unique_ptr<ProfiledCandidate> candidate;
    const auto samples = HONE_TRY(cuda::Sample(*context_, kSamplePeriod, [&]() -> Try<void> {
      auto made = ProfiledCandidate::Load(*context_, question.form, question.built, placed_);
      if (!made) return tl::unexpected<cuda::Failure>(cuda::Failure{-1, made.error().message});
      candidate = *std::move(made);
      for (int i = 0; i < kRuns; ++i) HONE_GPU(candidate->Run());
      return {};
    }));
    for (const cuda::SampledAddress& one : samples.addresses) {
      SampledInstruction& instruction = report.samples.emplace_back();
      instruction.function = one.function;
      instruction.offset = static_cast<std::int64_t>(one.offset);
      for (const auto& [reason, count] : one.stalls) instruction.stalls[reason] = static_cast<std::int64_t>(count);
    }
    report.dropped_samples = static_cast<std::int64_t>(samples.dropped);
    if (report.samples.empty())
      return Fail(ErrorKind::kDevice, "CUPTI took " + std::to_string(samples.total) + " samples, " +
                                          std::to_string(samples.of_others) +
                                          " of them of kernels that it does not "
                                          "know, none of the candidate's");
    return {};
  }

  Problem problem_;
  std::unique_ptr<cuda::Context> context_;
  std::vector<Placed> placed_;
  std::map<std::string, double> ready_ms_;  // until somebody was told
  std::unique_ptr<cuda::Counters> counters_;
  std::vector<std::string> asked_;  // of counters_
  std::unique_ptr<CacheSweep> sweep_;
};

template <class T>
Result<T> ReadLine(std::istream& lines, const char* what) {
  std::string line;
  std::getline(lines, line);
  return FromRecord<T>(nlohmann::json::parse(line, nullptr, false), what);
}

bool Say(int answers, const ProfiledReport& report) {
  if (!report.failed.empty()) std::fprintf(stderr, "%s\n", report.failed.c_str());
  return WriteAll(answers, JsonText(ToRecord(report)) + "\n");
}

}  // namespace

int ProfiledMain(const std::string& file) {
  std::ifstream of_file(file);
  std::istream& lines = file.empty() ? std::cin : of_file;
  const auto setup = ReadLine<ProfiledSetup>(lines, "a profile's setup");
  if (!setup) {
    std::fprintf(stderr, "hone profiled is started by hone itself (%s)\n", setup.error().message.c_str());
    return 2;
  }
  const int answers = dup(1);
  dup2(2, 1);  // whatever else is printed here is no answer
  const auto session = Session::Open(*setup);
  while (lines.peek() != EOF) {
    const auto report = [&]() -> Result<ProfiledReport> {
      if (!session) return tl::unexpected<Error>(session.error());
      return (*session)->Profile(HONE_TRY(ReadLine<ProfiledQuestion>(lines, "a profile's question")));
    }();
    if (!Say(answers, report ? *report : ProfiledReport{.failed = report.error().message})) return 4;
    if (!report) return 3;
  }
  return 0;
}

}  // namespace hone
