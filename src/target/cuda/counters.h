// What a device counts while kernels run: CUPTI's range profiler, in the process that asks for the kernels. Each kernel
// runs alone, as often as the set of metrics needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "target/cuda/driver.h"
#include "target/cuda/metrics.h"

namespace hone::cuda {

// How a kernel comes to run several times.
enum class Replay : std::uint8_t {
  kRun,     // all kernels are asked for again: each finds caches as its neighbours leave them
  kKernel,  // by itself, and what it wrote is put back between, which is what its caches hold then
};

// Of one context, which outlives it, in the thread that has it current. One at a time in a process, and not while
// another profiler watches it.
class Counters {
 public:
  // kNotFound without CUPTI; kDevice where counting is not allowed, or none of the metrics is known.
  static Result<std::unique_ptr<Counters>> Open(Context& context, std::span<const std::string> metrics);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  const std::string& chip() const { return chip_; }                              // CUPTI's name for it
  const std::vector<std::string>& metrics() const { return config_.metrics(); }  // those that it has
  int passes() const { return config_.passes(); }

  // `ask` asks for kernels, at most so many, always the same. One row a kernel, in order, a value a metric; a value
  // that makes no sense for a kernel is NaN.
  Result<std::vector<std::vector<double>>> Count(int most_kernels, Replay replay,
                                                 const std::function<Try<void>()>& ask);

 private:
  Counters(Context& context, std::string chip, MetricConfig config)
      : context_(context), chip_(std::move(chip)), config_(std::move(config)) {}
  Context& context_;
  std::string chip_;
  MetricConfig config_;
  void* profiler_ = nullptr;
};

}  // namespace hone::cuda
