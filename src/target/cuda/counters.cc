#include "target/cuda/counters.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "target/cuda/cupti_api.h"
#include "target/cuda/try.h"

namespace hone::cuda {
namespace {

constexpr int kMostRuns = 1000;

}  // namespace

Result<std::unique_ptr<Counters>> Counters::Open(Context& context, std::span<const std::string> metrics) {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  cupti::Initialize initialize;
  HONE_CUPTI(initialize, initialize);
  cupti::ChipName name;
  name.device = static_cast<std::size_t>(context.device().ordinal);
  HONE_CUPTI(chip_name, name);
  std::string chip = name.chip;
  cupti::Availability availability;
  availability.context = context.handle();
  HONE_CUPTI(availability, availability);
  std::vector<std::uint8_t> image(availability.bytes);
  availability.image = image.data();
  HONE_CUPTI(availability, availability);
  auto known = HONE_TRY(KnownMetrics(chip, metrics));
  auto config = HONE_TRY(MetricConfig::Create(chip, std::move(known), std::move(image)));
  auto counters = std::unique_ptr<Counters>(new Counters(context, std::move(chip), std::move(config)));
  cupti::RangeEnable enable;
  enable.context = context.handle();
  HONE_CUPTI(range_enable, enable);
  counters->profiler_ = enable.profiler;
  return counters;
}

Counters::~Counters() {
  const auto api = cupti::TheApi();
  if (profiler_ == nullptr || !api) return;
  cupti::OfProfiler disable;
  disable.profiler = profiler_;
  (*api)->range_disable(&disable);
}

Result<std::vector<std::vector<double>>> Counters::Count(int most_kernels, Replay replay,
                                                         const std::function<Try<void>()>& ask) {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  const auto most = static_cast<std::size_t>(most_kernels);
  auto names = config_.names();
  cupti::DataSize size;
  size.profiler = profiler_;
  size.metrics = names.data();
  size.count = names.size();
  size.ranges = most;
  size.nodes = static_cast<std::uint32_t>(most);
  HONE_CUPTI(data_size, size);
  std::vector<std::uint8_t> data(size.bytes);
  cupti::DataInitialize begin;
  begin.profiler = profiler_;
  begin.bytes = data.size();
  begin.data = data.data();
  HONE_CUPTI(data_initialize, begin);
  cupti::SetConfig config;
  config.profiler = profiler_;
  config.config_bytes = config_.image().size();
  config.config = config_.image().data();
  config.data_bytes = data.size();
  config.data = data.data();
  config.ranges = most;
  config.replay = replay == Replay::kRun ? cupti::kUserReplay : cupti::kKernelReplay;
  HONE_CUPTI(set_config, config);

  cupti::OfProfiler start;
  start.profiler = profiler_;
  cupti::Stop stop;
  stop.profiler = profiler_;
  int runs = 0;
  do {
    HONE_CUPTI(start, start);
    auto asked = FromDevice(ask());
    const auto waited = FromDevice(context_.WaitAll());
    HONE_CUPTI(stop, stop);
    HONE_TRY(std::move(asked));
    HONE_TRY(waited);
    if (++runs > kMostRuns) return Fail(ErrorKind::kDevice, "CUPTI asks for more and more runs to count in");
  } while (replay == Replay::kRun && stop.all_passes == 0);

  cupti::Decode decode;
  decode.profiler = profiler_;
  HONE_CUPTI(decode, decode);
  if (decode.dropped > 0)
    return Fail(ErrorKind::kDevice,
                fmt::format("CUPTI counted {} kernels more than the {} that there is room for", decode.dropped, most));
  cupti::DataInfo info;
  info.data = data.data();
  info.bytes = data.size();
  HONE_CUPTI(data_info, info);
  std::vector<std::vector<double>> rows;
  for (std::size_t range = 0; range < info.ranges; ++range) {
    cupti::Evaluate evaluate;
    evaluate.host = config_.host();
    evaluate.data = data.data();
    evaluate.bytes = data.size();
    evaluate.range = range;
    evaluate.metrics = names.data();
    evaluate.count = names.size();
    evaluate.values = rows.emplace_back(names.size()).data();
    HONE_CUPTI(evaluate, evaluate);
  }
  return rows;
}

}  // namespace hone::cuda
