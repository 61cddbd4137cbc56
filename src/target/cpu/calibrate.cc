// Ceilings: the best that this machine does at one thing alone. Whatever disturbs a trial makes it slower, never
// faster; so of many short trials, in three sweeps that are seconds apart, the fastest count: of each sweep the second
// fastest trial, in case a trial was short enough for the clock to matter, and of the sweeps the best.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/date.h"
#include "base/interrupt.h"
#include "base/machine_memory.h"
#include "target/cpu/compiler.h"
#include "target/cpu/host_libraries.h"
#include "target/device_model.h"

namespace hone {

extern const std::string_view kCeilingKernels;

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

struct Kernels {
  double (*fma32)(std::int64_t rounds, int wide);
  double (*fma64)(std::int64_t rounds, int wide);
  double (*bf16_pairs)(std::int64_t rounds);
  void (*copy)(char* to, const char* from, std::int64_t bytes, std::int64_t passes, int around);
  std::int64_t (*read)(const char* from, std::int64_t bytes, std::int64_t passes);
  void (*fork_join)(int threads, int times);
};

// Threads that start a piece of work together, each on a processor of its own: left to the scheduler of a machine that
// is not idle, they would take turns on one. They sleep in between: OpenMP's spin, and then the spinning one keeps the
// processor from the one that it waits for.
class Team {
 public:
  explicit Team(int threads) : spans_(static_cast<std::size_t>(threads)), start_(threads + 1), end_(threads + 1) {
    const auto processors = UsableProcessors();
    for (int thread = 0; thread < threads; ++thread) {
      workers_.emplace_back(
          [this, thread, processor = processors[static_cast<std::size_t>(thread) % processors.size()]] {
            Pin(processor);
            auto& [begin, end] = spans_[static_cast<std::size_t>(thread)];
            for (;;) {
              start_.arrive_and_wait();
              if (!work_) return;
              begin = Clock::now();
              work_(thread);
              end = Clock::now();
              end_.arrive_and_wait();
            }
          });
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    work_ = nullptr;
    start_.arrive_and_wait();
  }

  // Calls work(thread) from each thread; seconds from the first one's start to the last one's end.
  double Run(std::function<void(int)> work) {
    work_ = std::move(work);
    start_.arrive_and_wait();
    end_.arrive_and_wait();
    auto [begin, end] = spans_.front();
    for (const auto& span : spans_) {
      begin = std::min(begin, span.first);
      end = std::max(end, span.second);
    }
    return std::max(std::chrono::duration<double>(end - begin).count(), 1e-9);
  }

 private:
  // Where it is refused, the measurement is worse and still one.
  static void Pin(int processor) {
    const auto count = static_cast<std::size_t>(processor) + 1;
    cpu_set_t* set = CPU_ALLOC(count);
    if (set == nullptr) return;
    CPU_ZERO_S(CPU_ALLOC_SIZE(count), set);
    CPU_SET_S(static_cast<std::size_t>(processor), CPU_ALLOC_SIZE(count), set);
    sched_setaffinity(0, CPU_ALLOC_SIZE(count), set);
    CPU_FREE(set);
  }

  std::function<void(int)> work_;
  std::vector<std::pair<Clock::time_point, Clock::time_point>> spans_;
  std::barrier<> start_, end_;
  std::vector<std::jthread> workers_;  // last: they are joined before the rest goes
};

Result<Kernels> LoadKernels() {
  const auto compiled = HONE_TRY(CompileModule({.source = std::string(kCeilingKernels), .trusted = true}));
  if (!compiled.ok()) {
    return Fail(ErrorKind::kTool, fmt::format("the host compiler refuses the measuring kernels: line {}: {}",
                                              compiled.errors[0].line, compiled.errors[0].message));
  }
  // Never closed: OpenMP keeps its threads, whose code must stay.
  void* library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Fail(ErrorKind::kTool, fmt::format("cannot load the measuring kernels: {}", dlerror()));
  Kernels kernels{};
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (!find(kernels.fma32, "Fma32") || !find(kernels.fma64, "Fma64") || !find(kernels.bf16_pairs, "Bf16Pairs") ||
      !find(kernels.copy, "Copy") || !find(kernels.read, "Read") || !find(kernels.fork_join, "ForkJoin")) {
    return Fail(ErrorKind::kCorrupt, fmt::format("{} lacks a function: delete it", compiled.library));
  }
  return kernels;
}

// Memory as kernels get it: plain pages, huge ones where the system gives them unasked.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) data_ = static_cast<char*>(at);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_;
};

struct Pace {
  int sweeps;            // the best of so many
  int trials;            // of a sweep, at least; two or more
  double trial_seconds;  // a trial is at least this long, or one pass
  double point_seconds;  // trials are repeated until so much time is spent
  int looks;             // at points that seem disturbed
  int points_per_octave;
  std::int64_t largest_bytes;  // working set of all threads
};

constexpr Pace kFullPace{.sweeps = 3,
                         .trials = 4,
                         .trial_seconds = 0.0015,
                         .point_seconds = 0.02,
                         .looks = 4,
                         .points_per_octave = 2,
                         .largest_bytes = 512 << 20};
constexpr Pace kFastPace{.sweeps = 1,
                         .trials = 4,
                         .trial_seconds = 0.0005,
                         .point_seconds = 0.003,
                         .looks = 4,
                         .points_per_octave = 1,
                         .largest_bytes = 8 << 20};

// `seconds_of(times)` does the work so many times over and says how long it took; `times` is chosen such that a trial
// is long enough. Amount per second of the second fastest trial.
template <class SecondsOf>
double BestRate(const Pace& pace, double amount_of_one, double point_seconds, SecondsOf seconds_of) {
  std::int64_t times = 1;
  for (;;) {
    // The fastest of three: taken from a disturbed one, `times` would be far too small.
    double took = seconds_of(times);
    for (int i = 0; i < 2 && took >= pace.trial_seconds / 2; ++i) took = std::min(took, seconds_of(times));
    if (took >= pace.trial_seconds / 2 || times >= (std::int64_t{1} << 40)) {
      times =
          std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(times) * pace.trial_seconds / took));
      break;
    }
    times *= 4;
  }
  std::vector<double> rates;
  const auto begin = Clock::now();
  while (static_cast<int>(rates.size()) < pace.trials || Seconds(begin) < point_seconds) {
    rates.push_back(amount_of_one * static_cast<double>(times) / seconds_of(times));
  }
  std::nth_element(rates.begin(), rates.begin() + 1, rates.end(), std::greater<>());
  return rates[1];
}

// 16 KiB a thread up to the largest, rising by equal factors, each a multiple of 1 KiB a thread.
std::vector<std::int64_t> WorkingSets(const Pace& pace, int threads) {
  std::vector<std::int64_t> sets;
  const std::int64_t unit = std::int64_t{1024} * threads;
  for (int step = 0;; ++step) {
    const double wanted = 16.0 * 1024 * threads * std::exp2(static_cast<double>(step) / pace.points_per_octave);
    if (wanted > static_cast<double>(pace.largest_bytes) * 1.01 && !sets.empty()) return sets;
    const auto bytes = static_cast<std::int64_t>(wanted / static_cast<double>(unit)) * unit;
    if (sets.empty() || bytes > sets.back()) sets.push_back(bytes);
  }
}

// A quarter of the memory that is free is the most that we take.
std::int64_t AffordableBytes() {
  const std::int64_t free_bytes = FreeMemoryBytes();
  return free_bytes > 0 ? free_bytes / 4 : std::int64_t{64} << 20;
}

void KeepBest(double& best, double rate) { best = std::max(best, rate); }

// Goes round and round through the working set, a window of each thread's part at a time, so that a trial stays short
// however large the set is. work(thread, offset, bytes, passes) is given the window within `span` bytes of a thread.
template <class Work>
double RoundRate(Team& team, const Pace& pace, int threads, std::int64_t span, Work work) {
  constexpr std::int64_t kWindow = 2 << 20;
  const std::int64_t parts = std::max<std::int64_t>(1, span / kWindow);
  const std::int64_t window = span / parts / 512 * 512;
  std::int64_t at = 0;
  const auto go = [&](std::int64_t times) {
    const double seconds = team.Run([&](int thread) {
      if (parts == 1) return work(thread, 0, window, times);
      for (std::int64_t i = 0; i < times; ++i) work(thread, (at + i) % parts * window, window, 1);
    });
    at = (at + times) % parts;
    return seconds;
  };
  if (parts > 1) go(parts);  // or the first windows would come from what the smaller sets left in the caches
  return BestRate(pace, static_cast<double>(window) * threads, pace.point_seconds, go);
}

// Raises the point's figures to what is measured now, if that is more. All threads together are never slower than one
// alone; where they seem so, others keep them from running at the same time, and the one's figure is nearer the truth.
void MeasurePoint(const Kernels& kernels, Team& team, Team& lone, char* memory, std::int64_t stride, const Pace& pace,
                  const DeviceModel& machine, BandwidthPoint& point) {
  const auto each = point.working_set_bytes / machine.threads;
  Pace brief = pace;
  brief.point_seconds = 0;  // as few trials as there may be
  for (const int around : {0, 1}) {
    if (around == 1 && each <= machine.l2_bytes)
      continue;  // stores around the caches pay only where the set does not fit
    const auto copy = [&](int thread, std::int64_t offset, std::int64_t bytes, std::int64_t passes) {
      const char* from = memory + thread * stride + offset;
      // The target lies right behind all of the source: a gap that is a power of two would make them collide in the
      // cache.
      kernels.copy(memory + thread * stride + each / 2 + offset, from, bytes, passes, around);
    };
    KeepBest(point.copy_bytes_per_second, 2 * RoundRate(team, pace, machine.threads, each / 2, copy));
    KeepBest(point.copy_bytes_per_second, 2 * RoundRate(lone, brief, 1, each / 2, copy));
  }
  const auto read = [&](int thread, std::int64_t offset, std::int64_t bytes, std::int64_t passes) {
    kernels.read(memory + thread * stride + offset, bytes, passes);
  };
  KeepBest(point.read_bytes_per_second, RoundRate(team, pace, machine.threads, each, read));
  KeepBest(point.read_bytes_per_second, RoundRate(lone, brief, 1, each, read));
}

}  // namespace

Result<DeviceModel> Calibrate(Effort effort, const std::function<void(std::string_view)>& progress) {
  DeviceModel machine = DescribeHost();
  machine.ceilings.source = Ceilings::Source::kMeasured;
  const auto kernels = HONE_TRY(LoadKernels());
  machine.ceilings.compiler = HONE_TRY(HostCompilerVersion());
  auto pace = effort == Effort::kFast ? kFastPace : kFullPace;
  pace.largest_bytes = std::min(pace.largest_bytes, AffordableBytes());
  const int threads = machine.threads;

  const auto sets = WorkingSets(pace, threads);
  // Twice half the largest set: source and destination of a copy, or one piece to read.
  const std::int64_t stride = (sets.back() / threads + 4095) / 4096 * 4096;
  const Memory memory(static_cast<std::size_t>(stride) * static_cast<std::size_t>(threads));
  if (memory.data() == nullptr)
    return Fail(ErrorKind::kIo, fmt::format("no memory for a working set of {} MiB", sets.back() >> 20));
  Team team(threads), lone(1);
  // First touched by the thread that will use it, where memory has a home.
  team.Run([&](int thread) { std::memset(memory.data() + thread * stride, 1, static_cast<std::size_t>(stride)); });
  for (const auto set : sets) machine.ceilings.bandwidth.push_back({.working_set_bytes = set});
  double fork_join_seconds = 1e9;

  for (int sweep = 1; sweep <= pace.sweeps; ++sweep) {
    if (InterruptFlag()) return Fail(ErrorKind::kInterrupted, "interrupted");
    const auto say = [&](std::string_view what) {
      if (progress) progress(fmt::format("measuring {} (sweep {} of {})", what, sweep, pace.sweeps));
    };
    say("fused multiply-add");
    const double fma_seconds = pace.point_seconds * 5;
    constexpr std::int64_t kRounds = 1000;
    // Narrower vectors win where the widest ones cost clock or have one port only.
    for (const int wide : {1, 0}) {
      for (const auto& [kernel, best] : {std::pair{kernels.fma32, &machine.ceilings.fma_flops_f32},
                                         {kernels.fma64, &machine.ceilings.fma_flops_f64}}) {
        const auto seconds = [&, run = kernel](std::int64_t n) {
          return team.Run([&](int) { run(n * kRounds, wide); });
        };
        KeepBest(*best, BestRate(pace, kernel(kRounds, wide) * threads, fma_seconds, seconds));
        const auto alone = [&, run = kernel](std::int64_t n) { return lone.Run([&](int) { run(n * kRounds, wide); }); };
        KeepBest(*best, BestRate(pace, kernel(kRounds, wide), pace.point_seconds, alone));
      }
    }
    if (const double flops = kernels.bf16_pairs(kRounds); flops > 0) {
      const auto pairs = [&](std::int64_t n) { return team.Run([&](int) { kernels.bf16_pairs(n * kRounds); }); };
      KeepBest(machine.ceilings.matmul_flops["bf16"], BestRate(pace, flops * threads, fma_seconds, pairs));
    }
    say("fork and join");
    // Few at a time: on a busy machine the threads seldom run together, and not for long.
    constexpr int kRegions = 20;
    for (const auto begin = Clock::now(); Seconds(begin) < fma_seconds;) {
      const auto start = Clock::now();
      kernels.fork_join(threads, kRegions);
      fork_join_seconds = std::min(fork_join_seconds, Seconds(start) / kRegions);
    }
    say("memory bandwidth");
    for (auto& point : machine.ceilings.bandwidth) {
      if (InterruptFlag()) return Fail(ErrorKind::kInterrupted, "interrupted");
      MeasurePoint(kernels, team, lone, memory.data(), stride, pace, machine, point);
    }
  }
  // Nearer memory is hardly slower than farther memory, and the farthest is much like its neighbour: where it seems
  // otherwise, something disturbed every sweep. Look again.
  for (int look = 0; look < pace.looks; ++look) {
    BandwidthPoint beyond;
    if (machine.ceilings.bandwidth.size() > 1) {
      const auto& neighbour = machine.ceilings.bandwidth[machine.ceilings.bandwidth.size() - 2];
      beyond = {.copy_bytes_per_second = 0.8 * neighbour.copy_bytes_per_second,
                .read_bytes_per_second = 0.8 * neighbour.read_bytes_per_second};
    }
    for (auto point = machine.ceilings.bandwidth.rbegin(); point != machine.ceilings.bandwidth.rend(); ++point) {
      if (point->copy_bytes_per_second < 0.9 * beyond.copy_bytes_per_second ||
          point->read_bytes_per_second < 0.9 * beyond.read_bytes_per_second) {
        if (progress)
          progress(fmt::format("measuring memory bandwidth again at {} KiB", point->working_set_bytes >> 10));
        MeasurePoint(kernels, team, lone, memory.data(), stride, pace, machine, *point);
      }
      KeepBest(beyond.copy_bytes_per_second, point->copy_bytes_per_second);
      KeepBest(beyond.read_bytes_per_second, point->read_bytes_per_second);
    }
  }
  machine.ceilings.fork_join_us = 1e6 * fork_join_seconds;
  machine.ceilings.measured_on = Today();
  return machine;
}

}  // namespace hone
