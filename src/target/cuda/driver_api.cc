#include "target/cuda/driver_api.h"

#include <fmt/format.h>

#include "target/cuda/shared_library.h"

namespace hone::cuda {
namespace {

Result<Api> OpenApi() {
  const std::string names[] = {"libcuda.so.1", "libcuda.so"};
  const auto library = SharedLibrary::Open(names);
  if (!library)
    return Fail(ErrorKind::kNotFound,
                "there is no CUDA driver here (libcuda.so.1): CUDA kernels can be compiled and "
                "inspected, but not run");
  Api api{};
  const auto load = [&](const char* symbol, auto*& function) { return library->Load(symbol, function); };
  const bool all =
      load("cuInit", api.init) && load("cuDriverGetVersion", api.driver_version) &&
      load("cuDeviceGetCount", api.device_count) && load("cuDeviceGet", api.device_get) &&
      load("cuDeviceGetName", api.device_name) && load("cuDeviceGetUuid_v2", api.device_uuid) &&
      load("cuDeviceGetAttribute", api.device_attribute) && load("cuDeviceTotalMem_v2", api.device_memory) &&
      load("cuDevicePrimaryCtxRetain", api.retain) && load("cuDevicePrimaryCtxRelease_v2", api.release) &&
      load("cuCtxSetCurrent", api.set_current) && load("cuMemAlloc_v2", api.allocate) &&
      load("cuMemFree_v2", api.free) && load("cuMemcpyHtoDAsync_v2", api.copy_in) &&
      load("cuMemcpyDtoHAsync_v2", api.copy_out) && load("cuMemsetD8Async", api.set8) &&
      load("cuMemcpyDtoDAsync_v2", api.copy) && load("cuMemGetInfo_v2", api.memory_info) &&
      load("cuMemsetD16Async", api.set16) && load("cuMemCreate", api.create_memory) &&
      load("cuMemRelease", api.release_memory) && load("cuMemExportToShareableHandle", api.export_memory) &&
      load("cuMemImportFromShareableHandle", api.import_memory) && load("cuMemAddressReserve", api.reserve) &&
      load("cuMemAddressFree", api.free_reserved) && load("cuMemMap", api.map) && load("cuMemUnmap", api.unmap) &&
      load("cuMemSetAccess", api.set_access) && load("cuStreamCreate", api.stream_create) &&
      load("cuStreamDestroy_v2", api.stream_destroy) && load("cuStreamSynchronize", api.stream_wait) &&
      load("cuEventCreate", api.event_create) && load("cuEventDestroy_v2", api.event_destroy) &&
      load("cuEventRecord", api.event_record) && load("cuEventSynchronize", api.event_wait) &&
      load("cuEventElapsedTime", api.event_elapsed) && load("cuModuleLoadData", api.module_load) &&
      load("cuModuleUnload", api.module_unload) && load("cuModuleGetFunction", api.module_function) &&
      load("cuFuncSetAttribute", api.function_set) &&
      load("cuOccupancyMaxActiveBlocksPerMultiprocessor", api.function_blocks) &&
      load("cuLaunchKernelEx", api.launch) && load("cuStreamQuery", api.stream_query) &&
      load("cuCtxSynchronize", api.context_wait) && load("cuMemHostAlloc", api.host_allocate) &&
      load("cuCtxGetLimit", api.get_limit) && load("cuCtxResetPersistingL2Cache", api.reset_persisting) &&
      load("cuLaunchHostFunc", api.host_function) && load("cuTensorMapEncodeTiled", api.encode_tiled) &&
      load("cuTensorMapEncodeIm2col", api.encode_pixels) && load("cuStreamBeginCapture_v2", api.capture_begin) &&
      load("cuStreamEndCapture", api.capture_end) && load("cuGraphInstantiateWithFlags", api.graph_instantiate) &&
      load("cuGraphLaunch", api.graph_launch) && load("cuGraphDestroy", api.graph_destroy) &&
      load("cuGraphExecDestroy", api.exec_destroy) && load("cuProfilerStart", api.profiler_start) &&
      load("cuProfilerStop", api.profiler_stop) && load("cuGetErrorName", api.error_name);
  if (!all)
    return Fail(ErrorKind::kDevice, fmt::format("{} is older than CUDA 12.0: install a newer driver", library->path()));
  if (const int code = api.init(0)) {
    const char* name = nullptr;
    api.error_name(code, &name);
    return Fail(ErrorKind::kNotFound,
                fmt::format("the CUDA driver finds no device: {}", name != nullptr ? name : "unknown error"));
  }
  return api;
}

}  // namespace

const Result<Api>& TheApi() {
  static const Result<Api> api = OpenApi();
  return api;
}

const Api& Driver() { return *TheApi(); }

tl::unexpected<Failure> Failed(std::string_view call, int code) {
  const char* name = nullptr;
  if (TheApi()) Driver().error_name(code, &name);
  return tl::unexpected<Failure>(
      Failure{code, fmt::format("{}: {}", call, name != nullptr ? name : fmt::format("error {}", code))});
}

}  // namespace hone::cuda
