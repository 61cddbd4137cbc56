#include "target/cuda/cupti_api.h"

#include <fmt/format.h>

#include "target/cuda/shared_library.h"
#include "target/cuda/toolkit.h"

namespace hone::cuda::cupti {
namespace {

constexpr int kInsufficientPrivileges = 35;

Result<Api> OpenApi(std::string path) {
  if (path.empty()) path = HONE_TRY(FindLibrary(Library::kCupti));
  const auto library = HONE_TRY(SharedLibrary::Open({&path, 1}));
  Api api{};
  api.path = library.path();
  const auto load = [&](const char* symbol, auto*& function) { return library.Load(symbol, function); };
  const bool all =
      load("cuptiGetVersion", api.get_version) && load("cuptiGetResultString", api.result_string) &&
      load("cuptiProfilerHostInitialize", api.host_initialize) &&
      load("cuptiProfilerHostDeinitialize", api.host_deinitialize) &&
      load("cuptiProfilerHostGetMetricProperties", api.metric_properties) &&
      load("cuptiProfilerHostConfigAddMetrics", api.add_metrics) &&
      load("cuptiProfilerHostGetConfigImageSize", api.config_size) &&
      load("cuptiProfilerHostGetConfigImage", api.get_config) &&
      load("cuptiProfilerHostGetNumOfPasses", api.pass_count) &&
      load("cuptiProfilerHostEvaluateToGpuValues", api.evaluate) && load("cuptiProfilerInitialize", api.initialize) &&
      load("cuptiDeviceGetChipName", api.chip_name) && load("cuptiProfilerGetCounterAvailability", api.availability) &&
      load("cuptiRangeProfilerEnable", api.range_enable) && load("cuptiRangeProfilerDisable", api.range_disable) &&
      load("cuptiRangeProfilerGetCounterDataSize", api.data_size) &&
      load("cuptiRangeProfilerCounterDataImageInitialize", api.data_initialize) &&
      load("cuptiRangeProfilerSetConfig", api.set_config) && load("cuptiRangeProfilerStart", api.start) &&
      load("cuptiRangeProfilerStop", api.stop) && load("cuptiRangeProfilerDecodeData", api.decode) &&
      load("cuptiRangeProfilerGetCounterDataInfo", api.data_info) &&
      load("cuptiActivityRegisterCallbacks", api.record_callbacks) && load("cuptiActivityEnable", api.record_enable) &&
      load("cuptiActivityDisable", api.record_disable) && load("cuptiActivityFlushAll", api.record_flush) &&
      load("cuptiActivityGetNextRecord", api.next_record) && load("cuptiPCSamplingEnable", api.sampling_enable) &&
      load("cuptiPCSamplingDisable", api.sampling_disable) &&
      load("cuptiPCSamplingSetConfigurationAttribute", api.sampling_config) &&
      load("cuptiPCSamplingGetNumStallReasons", api.stall_reason_count) &&
      load("cuptiPCSamplingGetStallReasons", api.stall_reasons) && load("cuptiPCSamplingGetData", api.get_samples);
  if (!all) return Fail(ErrorKind::kNotFound, fmt::format("{} is older than CUDA 13: install a newer one", api.path));
  return api;
}

}  // namespace

Result<const Api*> TheApi(const std::string& path) {
  static const Result<Api> api = OpenApi(path);
  if (!api) return tl::unexpected<Error>(api.error());
  return &*api;
}

Result<void> Done(const Api& api, std::string_view call, int code) {
  if (code == 0) return {};
  const char* text = nullptr;
  api.result_string(code, &text);
  const std::string_view mend =
      code == kInsufficientPrivileges
          ? "; counters are for root alone here: the driver's option NVreg_RestrictProfilingToAdminUsers=0 opens them"
          : "";
  return Fail(ErrorKind::kDevice,
              fmt::format("CUPTI, {}: {}{}", call, text != nullptr ? text : fmt::format("error {}", code), mend));
}

}  // namespace hone::cuda::cupti
