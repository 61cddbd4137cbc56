#include "target/cuda/metrics.h"

#include <fmt/format.h>

#include <utility>

#include "target/cuda/cupti_api.h"

namespace hone::cuda {
namespace {

Result<void*> OpenHost(const cupti::Api* api_, const std::string& chip, const std::vector<std::uint8_t>& availability) {
  cupti::HostInitialize host;
  host.chip = chip.c_str();
  host.availability = availability.empty() ? nullptr : availability.data();
  if (const int code = api_->host_initialize(&host))
    return Rethrow(cupti::Done(*api_, "host_initialize", code).error(), fmt::format("chip {}: ", chip));
  return host.host;
}

void CloseHost(const cupti::Api& api, void* host) {
  cupti::HostDeinitialize end;
  end.host = host;
  api.host_deinitialize(&end);
}

}  // namespace

void UseCupti(const std::string& path) { cupti::TheApi(path).has_value(); }

Result<std::string> CuptiVersion() {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  std::uint32_t version = 0;
  HONE_CUPTI(get_version, version);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Result<MetricConfig> MetricConfig::Create(const std::string& chip, std::vector<std::string> metrics,
                                          std::vector<std::uint8_t> availability) {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  MetricConfig config;
  config.metrics_ = std::move(metrics);
  config.availability_ = std::move(availability);
  config.host_ = HONE_TRY(OpenHost(api_, chip, config.availability_));
  auto names = config.names();
  cupti::AddMetrics add;
  add.host = config.host_;
  add.metrics = names.data();
  add.count = names.size();
  HONE_CUPTI(add_metrics, add);
  cupti::ConfigSize bytes;
  bytes.host = config.host_;
  HONE_CUPTI(config_size, bytes);
  config.image_.resize(bytes.bytes);
  cupti::GetConfig get;
  get.host = config.host_;
  get.bytes = config.image_.size();
  get.config = config.image_.data();
  HONE_CUPTI(get_config, get);
  cupti::PassCount passes;
  passes.bytes = config.image_.size();
  passes.config = config.image_.data();
  HONE_CUPTI(pass_count, passes);
  config.passes_ = static_cast<int>(passes.passes);
  return config;
}

MetricConfig::MetricConfig(MetricConfig&& other) noexcept
    : metrics_(std::move(other.metrics_)),
      availability_(std::move(other.availability_)),
      image_(std::move(other.image_)),
      passes_(other.passes_),
      host_(std::exchange(other.host_, nullptr)) {}

MetricConfig::~MetricConfig() {
  if (host_ == nullptr) return;
  if (const auto api = cupti::TheApi()) CloseHost(**api, host_);
}

std::vector<const char*> MetricConfig::names() const {
  std::vector<const char*> names;
  for (const auto& metric : metrics_) names.push_back(metric.c_str());
  return names;
}

Result<std::vector<std::string>> KnownMetrics(const std::string& chip, std::span<const std::string> metrics) {
  const auto* api = HONE_TRY(cupti::TheApi());
  void* host = HONE_TRY(OpenHost(api, chip, {}));
  std::vector<std::string> known;
  for (const auto& metric : metrics) {
    cupti::MetricProperties properties;
    properties.host = host;
    properties.metric = metric.c_str();
    if (api->metric_properties(&properties) == 0) known.push_back(metric);
  }
  CloseHost(*api, host);
  return known;
}

}  // namespace hone::cuda
