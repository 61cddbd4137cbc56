// What CUPTI knows of a chip's metrics: which there are, and in how many passes a set of them is counted. Needs the
// library and nothing else: no device, no driver. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone::cuda {

// For a process that is told where the library is instead of looking for it; before anything else here.
void UseCupti(const std::string& path);

// "13.0.1". kNotFound says how to get CUPTI.
Result<std::string> CuptiVersion();

// How a set of metrics is counted on a chip, for any number of kernels.
class MetricConfig {
 public:
  // `chip` is CUPTI's name, "GH100" of an H100 and an H200; `availability` what a device at hand says that it can
  // count, empty: all that the chip has. kNotFound without CUPTI; kDevice for a chip or a metric that it does not know,
  // or for no metric.
  static Result<MetricConfig> Create(const std::string& chip, std::vector<std::string> metrics,
                                     std::vector<std::uint8_t> availability = {});
  MetricConfig(MetricConfig&& other) noexcept;
  MetricConfig& operator=(MetricConfig&&) = delete;
  ~MetricConfig();

  const std::vector<std::string>& metrics() const { return metrics_; }
  std::vector<const char*> names() const;
  int passes() const { return passes_; }                             // how often each kernel runs to count them all
  const std::vector<std::uint8_t>& image() const { return image_; }  // CUPTI's own
  void* host() const { return host_; }

 private:
  MetricConfig() = default;
  std::vector<std::string> metrics_;
  std::vector<std::uint8_t> availability_, image_;
  int passes_ = 0;
  void* host_ = nullptr;
};

// Those of `metrics` that the chip has, in their order; fails as Create does.
Result<std::vector<std::string>> KnownMetrics(const std::string& chip, std::span<const std::string> metrics);

}  // namespace hone::cuda
