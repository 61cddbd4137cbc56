// Ceilings: the best that this machine does at one thing alone. A figure is the median of several short trials, and of
// three such medians, taken seconds apart, the best one: a neighbour who disturbs one sweep is ridden out, and a lucky
// trial is not believed.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>

#include "target/cpu/compiler.h"
#include "target/machine.h"

namespace hone {

extern const std::string_view kCeilingKernels;

namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

struct Kernels {
  double (*fma32)(int threads, std::int64_t rounds, int wide);
  double (*fma64)(int threads, std::int64_t rounds, int wide);
  void (*copy)(int threads, char* to, const char* from, std::int64_t bytes, std::int64_t stride, std::int64_t passes,
               int around);
  std::int64_t (*read)(int threads, const char* from, std::int64_t bytes, std::int64_t stride, std::int64_t passes);
  void (*touch)(int threads, char* to, std::int64_t stride);
  void (*fork_join)(int threads, int times);
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
  if (!find(kernels.fma32, "Fma32") || !find(kernels.fma64, "Fma64") || !find(kernels.copy, "Copy") ||
      !find(kernels.read, "Read") || !find(kernels.touch, "Touch") || !find(kernels.fork_join, "ForkJoin")) {
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
  int trials;            // the median of at least so many
  double trial_seconds;  // a trial is at least this long, or one pass
  double point_seconds;  // trials are repeated until so much time is spent
  int points_per_octave;
  std::int64_t largest_bytes;  // working set of all threads
};

constexpr Pace kFullPace{.sweeps = 3,
                         .trials = 3,
                         .trial_seconds = 0.0015,
                         .point_seconds = 0.02,
                         .points_per_octave = 2,
                         .largest_bytes = 512 << 20};
constexpr Pace kFastPace{.sweeps = 1,
                         .trials = 3,
                         .trial_seconds = 0.0005,
                         .point_seconds = 0.003,
                         .points_per_octave = 1,
                         .largest_bytes = 8 << 20};

// Runs `work(times)`, with `times` such that a trial is long enough; the median of `amount(times) / seconds` over the
// trials.
template <class Work>
double MedianRate(const Pace& pace, double amount_of_one, double point_seconds, Work work) {
  std::int64_t times = 1;
  for (;;) {
    const auto start = Clock::now();
    work(times);
    const double took = Seconds(start);
    if (took >= pace.trial_seconds / 2 || times >= (std::int64_t{1} << 40)) {
      times = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(static_cast<double>(times) * pace.trial_seconds / std::max(took, 1e-9)));
      break;
    }
    times *= 4;
  }
  std::vector<double> rates;
  const auto begin = Clock::now();
  while (static_cast<int>(rates.size()) < pace.trials || Seconds(begin) < point_seconds) {
    const auto start = Clock::now();
    work(times);
    rates.push_back(amount_of_one * static_cast<double>(times) / std::max(Seconds(start), 1e-9));
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
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
  const auto pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size / 4 : std::int64_t{64} << 20;
}

void KeepBest(double& best, double rate) { best = std::max(best, rate); }

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[16] = {};
  localtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

}  // namespace

Result<Machine> Calibrate(Effort effort, const std::function<void(std::string_view)>& progress) {
  Machine machine = DescribeMachine();
  const auto kernels = HONE_TRY(LoadKernels());
  machine.compiler = HONE_TRY(HostCompilerVersion());
  auto pace = effort == Effort::kFast ? kFastPace : kFullPace;
  pace.largest_bytes = std::min(pace.largest_bytes, AffordableBytes());
  const int threads = machine.threads;

  const auto sets = WorkingSets(pace, threads);
  // Twice half the largest set: source and destination of a copy, or one piece to read.
  const std::int64_t stride = (sets.back() / threads + 4095) / 4096 * 4096;
  const Memory memory(static_cast<std::size_t>(stride) * static_cast<std::size_t>(threads));
  if (memory.data() == nullptr)
    return Fail(ErrorKind::kIo, fmt::format("no memory for a working set of {} MiB", sets.back() >> 20));
  kernels.touch(threads, memory.data(), stride);
  for (const auto set : sets) machine.bandwidth.push_back({.working_set_bytes = set});
  double fork_joins_per_second = 0;

  for (int sweep = 1; sweep <= pace.sweeps; ++sweep) {
    const auto say = [&](std::string_view what) {
      if (progress) progress(fmt::format("measuring {} (sweep {} of {})", what, sweep, pace.sweeps));
    };
    say("fused multiply-add");
    const double fma_seconds = pace.point_seconds * 5;
    constexpr std::int64_t kRounds = 1000;
    // Narrower vectors win where the widest ones cost clock or have one port only.
    for (const int wide : {1, 0}) {
      const double flops32 = kernels.fma32(threads, 1, wide) * kRounds,
                   flops64 = kernels.fma64(threads, 1, wide) * kRounds;
      KeepBest(machine.fma_flops_f32, MedianRate(pace, flops32, fma_seconds,
                                                 [&](std::int64_t n) { kernels.fma32(threads, n * kRounds, wide); }));
      KeepBest(machine.fma_flops_f64, MedianRate(pace, flops64, fma_seconds,
                                                 [&](std::int64_t n) { kernels.fma64(threads, n * kRounds, wide); }));
    }
    say("fork and join");
    KeepBest(fork_joins_per_second, MedianRate(pace, 1, fma_seconds, [&](std::int64_t n) {
               kernels.fork_join(threads, static_cast<int>(n));
             }));
    say("memory bandwidth");
    for (auto& point : machine.bandwidth) {
      const auto each = point.working_set_bytes / threads;
      const auto moved = static_cast<double>(point.working_set_bytes);
      // The destination lies right behind the source: no gap, which a power of two would make collide in the cache.
      char* to = memory.data() + each / 2;
      for (const int around : {0, 1}) {
        if (around == 1 && each <= machine.l2_bytes)
          continue;  // stores around the caches pay only where the set does not fit
        KeepBest(point.copy_bytes_per_second, MedianRate(pace, moved, pace.point_seconds, [&](std::int64_t n) {
                   kernels.copy(threads, to, memory.data(), each / 2, stride, n, around);
                 }));
      }
      KeepBest(point.read_bytes_per_second, MedianRate(pace, moved, pace.point_seconds, [&](std::int64_t n) {
                 kernels.read(threads, memory.data(), each, stride, n);
               }));
    }
  }
  machine.fork_join_us = 1e6 / fork_joins_per_second;
  machine.measured_on = Today();
  return machine;
}

}  // namespace hone
