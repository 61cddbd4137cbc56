#include "target/cuda/driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/sha256.h"
#include "problem/problem.h"
#include "target/cuda/library_steps.h"
#include "target/cuda/shared_library.h"
#include "target/generation.h"

namespace hone::cuda {
namespace {

// The part of the driver's C interface that we use, as its documentation declares it. Every call gives a CUresult, an
// int; 0 is success.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    struct {
      unsigned x, y, z;
    } cluster;
    char all[64];
  } value;
};
constexpr int kClusterDimension = 4;
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};
struct Uuid {
  unsigned char bytes[16];
};
struct MemoryLocation {
  int type, id;
};
struct AllocationProperties {
  int type, handle_types;
  MemoryLocation location;
  void* unused;
  unsigned char flags[8];
};
struct AccessDescription {
  MemoryLocation location;
  int flags;
};
constexpr int kMaxDynamicShared = 8;       // a function's attribute
constexpr int kOrdinaryShared = 48 << 10;  // above, a function has to say so
constexpr int kPersistingLimit = 6;
constexpr int kPinned = 1, kOnDevice = 1, kFileDescriptor = 1;

struct Api {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int length, int device);
  int (*device_uuid)(Uuid* uuid, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*device_memory)(std::size_t* bytes, int device);
  int (*retain)(void** context, int device);
  int (*release)(int device);
  int (*set_current)(void* context);
  int (*allocate)(Address* address, std::size_t bytes);
  int (*free)(Address address);
  int (*copy_in)(Address to, const void* from, std::size_t bytes, void* stream);
  int (*copy_out)(void* to, Address from, std::size_t bytes, void* stream);
  int (*copy)(Address to, Address from, std::size_t bytes, void* stream);
  int (*memory_info)(std::size_t* free_bytes, std::size_t* bytes);
  int (*set16)(Address at, unsigned short pattern, std::size_t count, void* stream);
  int (*create_memory)(unsigned long long* handle, std::size_t bytes, const AllocationProperties* properties,
                       unsigned long long flags);
  int (*release_memory)(unsigned long long handle);
  int (*export_memory)(void* descriptor, unsigned long long handle, int type, unsigned long long flags);
  int (*import_memory)(unsigned long long* handle, void* descriptor, int type);
  int (*reserve)(Address* address, std::size_t bytes, std::size_t alignment, Address wish, unsigned long long flags);
  int (*free_reserved)(Address address, std::size_t bytes);
  int (*map)(Address address, std::size_t bytes, std::size_t offset, unsigned long long handle,
             unsigned long long flags);
  int (*unmap)(Address address, std::size_t bytes);
  int (*set_access)(Address address, std::size_t bytes, const AccessDescription* access, std::size_t count);
  int (*set8)(Address at, unsigned char byte, std::size_t count, void* stream);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_destroy)(void* stream);
  int (*stream_wait)(void* stream);
  int (*stream_query)(void* stream);
  int (*context_wait)();
  int (*host_allocate)(void** memory, std::size_t bytes, unsigned flags);
  int (*get_limit)(std::size_t* value, int limit);
  int (*reset_persisting)();
  int (*host_function)(void* stream, void (*function)(void*), void* data);
  int (*event_create)(void** event, unsigned flags);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_wait)(void* event);
  int (*event_elapsed)(float* milliseconds, void* begin, void* end);
  int (*module_load)(void** module, const void* image);
  int (*module_unload)(void* module);
  int (*module_function)(void** function, void* module, const char* name);
  int (*function_set)(void* function, int attribute, int value);
  int (*function_blocks)(int* blocks, void* function, int threads, std::size_t shared_bytes);
  int (*launch)(const LaunchConfig* config, void* function, void** parameters, void** extra);
  int (*encode_tiled)(TensorMap* map, int type, unsigned rank, void* address, const std::uint64_t* extents,
                      const std::uint64_t* strides, const unsigned* box, const unsigned* element_strides,
                      int interleave, int swizzle, int promotion, int fill);
  int (*capture_begin)(void* stream, int mode);
  int (*capture_end)(void* stream, void** graph);
  int (*graph_instantiate)(void** exec, void* graph, unsigned long long flags);
  int (*graph_launch)(void* exec, void* stream);
  int (*graph_destroy)(void* graph);
  int (*exec_destroy)(void* exec);
  int (*error_name)(int code, const char** name);
};

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
      load("cuStreamBeginCapture_v2", api.capture_begin) && load("cuStreamEndCapture", api.capture_end) &&
      load("cuGraphInstantiateWithFlags", api.graph_instantiate) && load("cuGraphLaunch", api.graph_launch) &&
      load("cuGraphDestroy", api.graph_destroy) && load("cuGraphExecDestroy", api.exec_destroy) &&
      load("cuGetErrorName", api.error_name);
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

const Result<Api>& TheApi() {
  static const Result<Api> api = OpenApi();
  return api;
}

const Api& Driver() { return *TheApi(); }  // by whoever has a Context

tl::unexpected<Failure> Failed(std::string_view call, int code) {
  const char* name = nullptr;
  if (TheApi()) Driver().error_name(code, &name);
  return tl::unexpected<Failure>(
      Failure{code, fmt::format("{}: {}", call, name != nullptr ? name : fmt::format("error {}", code))});
}

#define HONE_CUDA(call, ...)                                                       \
  do {                                                                             \
    if (const int code_ = Driver().call(__VA_ARGS__)) return Failed(#call, code_); \
  } while (false)

// CUdevice_attribute.
enum DeviceAttribute : int {
  kClockRate = 13,  // kHz
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kThreadsOfMultiprocessor = 39,
  kMajor = 75,
  kMinor = 76,
  kSharedOfMultiprocessor = 81,
  kRegistersOfMultiprocessor = 82,
  kSharedOfBlock = 97,
  kBlocksOfMultiprocessor = 106,
  kReservedOfBlock = 111,
};

// What an architecture has is its generation's; of one that nobody described only what the driver says, and no more
// instructions than sm_80 has.
Device Describe(const Api& api, int ordinal) {
  Device device{.ordinal = ordinal};
  DeviceModel& model = device.model;
  model.kind = DeviceKind::kCuda;
  int handle = 0;
  if (api.device_get(&handle, ordinal) != 0) return device;
  char name[256] = {};
  if (api.device_name(name, sizeof name - 1, handle) == 0) model.processor = name;
  Uuid uuid{};
  if (api.device_uuid(&uuid, handle) == 0) {
    device.uuid = "GPU-";
    for (int i = 0; i < 16; ++i)
      device.uuid += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid.bytes[i]);
  }
  const auto get = [&](DeviceAttribute attribute, int otherwise) {
    int value = 0;
    return api.device_attribute(&value, attribute, handle) == 0 && value > 0 ? value : otherwise;
  };
  const int major = get(kMajor, 0), minor = get(kMinor, 0);
  if (const Generation* generation = GenerationOf(major, minor)) SetGeneration(model, *generation);
  model.arch = ArchOf(major, minor);
  model.multiprocessors = get(kMultiprocessors, 0);
  model.clock_mhz = get(kClockRate, 0) / 1000;
  model.l2_bytes = get(kL2Bytes, 0);
  MultiprocessorLimits& limits = model.limits;
  limits.warps = get(kThreadsOfMultiprocessor, limits.warps * 32) / 32;
  limits.blocks = get(kBlocksOfMultiprocessor, limits.blocks);
  limits.registers = get(kRegistersOfMultiprocessor, limits.registers);
  limits.shared_bytes = get(kSharedOfMultiprocessor, limits.shared_bytes);
  limits.block_shared_bytes = get(kSharedOfBlock, limits.block_shared_bytes);
  limits.reserved_shared_bytes = get(kReservedOfBlock, limits.reserved_shared_bytes);
  model.l1_bytes = std::max<std::int64_t>(model.l1_bytes, limits.shared_bytes);  // which is a part of it
  std::size_t bytes = 0;
  api.device_memory(&bytes, handle);
  model.memory_bytes = static_cast<std::int64_t>(bytes);
  api.driver_version(&device.driver);
  model.id = Sha256(fmt::format("{}\n{}\n{}\n", model.processor, device.uuid, device.driver)).substr(0, 16);
  return device;
}

}  // namespace

Result<std::vector<Device>> FindDevices() {
  const auto& api = TheApi();
  if (!api) return tl::unexpected<Error>(api.error());
  int count = 0;
  if (api->device_count(&count) != 0 || count == 0)
    return Fail(ErrorKind::kNotFound, "the CUDA driver is here, but no device");
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Describe(*api, i));
  return devices;
}

Try<std::unique_ptr<Context>> Context::Open(int ordinal) {
  if (const auto& api = TheApi(); !api) return tl::unexpected<Failure>(Failure{-1, api.error().message});
  auto context = std::unique_ptr<Context>(new Context(Describe(Driver(), ordinal)));
  int handle = 0;
  HONE_CUDA(device_get, &handle, ordinal);
  HONE_CUDA(retain, &context->context_, handle);
  HONE_CUDA(set_current, context->context_);
  constexpr unsigned kNonBlocking = 1;
  HONE_CUDA(stream_create, &context->stream_, kNonBlocking);
  return context;
}

Context::~Context() {
  if (stream_ != nullptr) Driver().stream_destroy(stream_);
  if (context_ != nullptr) Driver().release(device_.ordinal);
}

Try<Address> Context::Allocate(std::int64_t bytes) {
  Address address = 0;
  HONE_CUDA(allocate, &address, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  return address;
}

Try<void> Context::CopyIn(Address to, const void* from, std::int64_t bytes) {
  if (bytes > 0) HONE_CUDA(copy_in, to, from, static_cast<std::size_t>(bytes), stream_);
  return {};
}

Try<void> Context::CopyOut(void* to, Address from, std::int64_t bytes) {
  if (bytes > 0) HONE_CUDA(copy_out, to, from, static_cast<std::size_t>(bytes), stream_);
  return Wait();
}

Try<void> Context::Set(Address at, int byte, std::int64_t bytes) {
  if (bytes > 0) HONE_CUDA(set8, at, static_cast<unsigned char>(byte), static_cast<std::size_t>(bytes), stream_);
  return {};
}

void Context::Free(Address address) {
  if (address != 0) Driver().free(address);
}

Try<std::int64_t> Context::FreeBytes() {
  std::size_t free_bytes = 0, bytes = 0;
  HONE_CUDA(memory_info, &free_bytes, &bytes);
  return static_cast<std::int64_t>(free_bytes);
}

Try<void> Context::Copy(Address to, Address from, std::int64_t bytes) {
  if (bytes > 0) HONE_CUDA(copy, to, from, static_cast<std::size_t>(bytes), stream_);
  return {};
}

Try<void> Context::Set16(Address at, std::uint16_t pattern, std::int64_t count) {
  if (count > 0) HONE_CUDA(set16, at, pattern, static_cast<std::size_t>(count), stream_);
  return {};
}

Try<void> Context::Launch(void* function, std::int64_t blocks, int threads, std::span<void* const> arguments,
                          int shared_bytes) {
  LaunchConfig config{};
  if (shared_bytes > kOrdinaryShared) HONE_CUDA(function_set, function, kMaxDynamicShared, shared_bytes);
  config.shared_bytes = static_cast<unsigned>(shared_bytes);
  config.grid[0] = static_cast<unsigned>(blocks);
  config.block[0] = static_cast<unsigned>(threads);
  config.grid[1] = config.grid[2] = config.block[1] = config.block[2] = 1;
  config.stream = stream_;
  HONE_CUDA(launch, &config, function, const_cast<void**>(arguments.data()), nullptr);
  return {};
}

Try<void> Context::Wait() {
  HONE_CUDA(stream_wait, stream_);
  return {};
}

Try<bool> Context::Done() {
  constexpr int kNotReady = 600;
  const int code = Driver().stream_query(stream_);
  if (code != 0 && code != kNotReady) return Failed("stream_query", code);
  return code == 0;
}

Try<void> Context::WaitAll() {
  HONE_CUDA(context_wait);
  return {};
}

Try<void*> Context::AllocateHost(std::int64_t bytes) {
  constexpr unsigned kMapped = 2;
  void* memory = nullptr;
  HONE_CUDA(host_allocate, &memory, static_cast<std::size_t>(bytes), kMapped);
  return memory;
}

Try<std::int64_t> Context::PersistingBytes() {
  std::size_t bytes = 0;
  HONE_CUDA(get_limit, &bytes, kPersistingLimit);
  return static_cast<std::int64_t>(bytes);
}

Try<void> Context::ResetPersisting() {
  HONE_CUDA(reset_persisting);
  return {};
}

Try<void> Context::WarmUp() {
  HONE_CUDA(host_function, stream_, [](void*) {}, nullptr);
  return Wait();
}

Try<Module> Module::Load(Context&, const std::string& cubin) {
  Module module(nullptr);
  HONE_CUDA(module_load, &module.module_, cubin.data());
  return module;
}

Module::Module(Module&& other) noexcept : module_(std::exchange(other.module_, nullptr)) {}

Module::~Module() {
  if (module_ != nullptr) Driver().module_unload(module_);
}

Try<void*> Module::Find(const std::string& symbol) const {
  void* function = nullptr;
  HONE_CUDA(module_function, &function, module_, symbol.c_str());
  return function;
}

namespace {

// Memory is mapped in pages of this size on every device that we know (the driver's minimum granularity).
constexpr std::int64_t kMappedPage = 2 << 20;

std::size_t Mapped(std::int64_t bytes) {
  return static_cast<std::size_t>((std::max<std::int64_t>(bytes, 1) + kMappedPage - 1) / kMappedPage * kMappedPage);
}

}  // namespace

Try<std::unique_ptr<Exchange>> Exchange::Create(Context& context, std::int64_t bytes) {
  auto exchange = std::unique_ptr<Exchange>(new Exchange(context, static_cast<std::int64_t>(Mapped(bytes))));
  const AllocationProperties properties{
      .type = kPinned, .handle_types = kFileDescriptor, .location = {kOnDevice, context.device_.ordinal}};
  HONE_CUDA(create_memory, &exchange->handle_, Mapped(bytes), &properties, 0);
  HONE_CUDA(export_memory, &exchange->descriptor_, exchange->handle_, kFileDescriptor, 0);
  fcntl(exchange->descriptor_, F_SETFD, FD_CLOEXEC);
  return exchange;
}

Try<std::unique_ptr<Exchange>> Exchange::Open(Context& context, int descriptor, std::int64_t bytes) {
  auto exchange = std::unique_ptr<Exchange>(new Exchange(context, static_cast<std::int64_t>(Mapped(bytes))));
  HONE_CUDA(import_memory, &exchange->handle_, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
            kFileDescriptor);
  return exchange;
}

Exchange::~Exchange() {
  for (const Address address : reserved_) {
    Driver().unmap(address + kMappedPage, Mapped(bytes_));
    Driver().free_reserved(address, Mapped(bytes_ + 2 * kMappedPage));
  }
  if (handle_ != 0) Driver().release_memory(handle_);
  if (descriptor_ >= 0) close(descriptor_);
}

Try<Address> Exchange::Map(Access access) {
  Address address = 0;
  HONE_CUDA(reserve, &address, Mapped(bytes_ + 2 * kMappedPage), 0, 0, 0);
  if (const int code = Driver().map(address + kMappedPage, Mapped(bytes_), 0, handle_, 0)) {
    Driver().free_reserved(address, Mapped(bytes_ + 2 * kMappedPage));
    return Failed("map", code);
  }
  reserved_.push_back(address);
  const AccessDescription description{.location = {kOnDevice, context_.device_.ordinal},
                                      .flags = access == Access::kRead ? 1 : 3};
  HONE_CUDA(set_access, address + kMappedPage, Mapped(bytes_), &description, 1);
  return address + kMappedPage;
}

Try<GpuClock> GpuClock::Create(Context& context) {
  GpuClock clock(context);
  HONE_CUDA(event_create, &clock.begin_, 0u);
  HONE_CUDA(event_create, &clock.end_, 0u);
  return clock;
}

GpuClock::GpuClock(GpuClock&& other) noexcept
    : context_(other.context_),
      begin_(std::exchange(other.begin_, nullptr)),
      end_(std::exchange(other.end_, nullptr)) {}

GpuClock::~GpuClock() {
  for (void* event : {begin_, end_}) {
    if (event != nullptr) Driver().event_destroy(event);
  }
}

Try<void> GpuClock::Start() {
  HONE_CUDA(event_record, begin_, context_->stream_);
  return {};
}

Try<double> GpuClock::Stop() {
  HONE_CUDA(event_record, end_, context_->stream_);
  HONE_CUDA(event_wait, end_);
  float milliseconds = 0;
  HONE_CUDA(event_elapsed, &milliseconds, begin_, end_);
  return 1000.0 * static_cast<double>(milliseconds);
}

// A launch with its arguments in the bytes that the driver reads, a library's call, or a memset.
struct LoadedPlan::Step {
  Libraries::Call call;      // empty: not a library's
  void* function = nullptr;  // null: a memset
  LaunchConfig config{};
  LaunchAttribute cluster{};
  bool has_cluster = false;
  std::vector<TensorMap> values;  // one an argument, in its first bytes
  Address at = 0;
  std::int64_t bytes = 0;
  int byte = 0;
};

struct LoadedPlan::Bound {
  std::vector<Step> steps;
  void* exec = nullptr;  // as a CUDA graph
};

LoadedPlan::LoadedPlan(Context& context) : context_(context) {}

Try<std::unique_ptr<LoadedPlan>> LoadedPlan::Load(Context& context, const BuiltPlan& built) {
  auto loaded = std::unique_ptr<LoadedPlan>(new LoadedPlan(context));
  loaded->plan_ = built.plan;
  loaded->libraries_ = std::make_unique<Libraries>(context, built.libraries);
  for (const auto& cubin : built.cubins) HONE_CUDA(module_load, &loaded->modules_.emplace_back(), cubin.data());
  for (const auto& facts : built.prepare) loaded->prepare_symbols_.push_back(facts.name);
  for (const auto& facts : built.launches) loaded->step_symbols_.push_back(facts.name);
  for (const auto& buffer : built.plan.buffers) {
    const auto bytes = ElementCount(buffer.shape) * static_cast<std::int64_t>(Bytes(buffer.dtype));
    auto address = context.Allocate(bytes);
    if (!address) return tl::unexpected<Failure>(address.error());
    loaded->buffers_.push_back({buffer.name, *address, bytes, buffer.dtype});
  }
  return loaded;
}

LoadedPlan::~LoadedPlan() {
  for (const auto& bound : bound_) {
    if (bound->exec != nullptr) Driver().exec_destroy(bound->exec);
  }
  for (const auto& buffer : buffers_) Driver().free(buffer.address);
  for (void* module : modules_) {
    if (module != nullptr) Driver().module_unload(module);
  }
}

Try<void> LoadedPlan::FillBuffers(int byte) {
  for (const auto& buffer : buffers_) {
    if (auto set = context_.Set(buffer.address, byte, buffer.bytes); !set) return set;
  }
  return {};
}

Try<std::vector<LoadedPlan::Step>> LoadedPlan::Steps(const std::vector<PlanStep>& steps,
                                                     std::span<const Binding> tensors) {
  // BuildPlan has seen that every name is known.
  const auto find = [&](const std::string& name) -> const Binding& {
    for (const auto& buffer : buffers_) {
      if (buffer.name == name) return buffer;
    }
    for (const auto& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    static const Binding none;
    return none;
  };
  const auto& symbols = &steps == &plan_.prepare ? prepare_symbols_ : step_symbols_;
  std::size_t launches = 0;
  std::vector<Step> made;
  for (const auto& step : steps) {
    Step one;
    if (const auto* set = std::get_if<MemsetStep>(&step)) {
      one.at = find(set->buffer).address;
      one.bytes = find(set->buffer).bytes;
      one.byte = set->byte;
      made.push_back(std::move(one));
      continue;
    }
    const auto call = [&](const auto& of) -> Try<void> {
      auto ready = libraries_->Prepare(of, find);
      if (!ready) return tl::unexpected<Failure>(ready.error());
      one.call = std::move(*ready);
      made.push_back(std::move(one));
      return {};
    };
    if (const auto* matmul = std::get_if<MatmulStep>(&step)) {
      if (auto called = call(*matmul); !called) return tl::unexpected<Failure>(called.error());
      continue;
    }
    if (const auto* convolution = std::get_if<ConvolutionStep>(&step)) {
      if (auto called = call(*convolution); !called) return tl::unexpected<Failure>(called.error());
      continue;
    }
    const auto& launch = std::get<LaunchStep>(step);
    HONE_CUDA(module_function, &one.function, modules_[launch.source], symbols[launches++].c_str());
    if (launch.shared_bytes > kOrdinaryShared)
      HONE_CUDA(function_set, one.function, kMaxDynamicShared, static_cast<int>(launch.shared_bytes));
    if (launch.together > 1) {
      int blocks = 0;
      const std::int64_t threads = launch.block[0] * launch.block[1] * launch.block[2];
      HONE_CUDA(function_blocks, &blocks, one.function, static_cast<int>(threads),
                static_cast<std::size_t>(launch.shared_bytes));
      if (const std::int64_t most = std::int64_t{blocks} * context_.device().model.multiprocessors;
          launch.together > most) {
        constexpr int kTooLarge = 720;  // CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        return tl::unexpected<Failure>(
            Failure{kTooLarge, fmt::format("{} blocks of '{}' wait for each other, and this device holds {} at once",
                                           launch.together, launch.kernel, most)});
      }
    }
    for (std::size_t d = 0; d < 3; ++d) {
      one.config.grid[d] = static_cast<unsigned>(launch.grid[d]);
      one.config.block[d] = static_cast<unsigned>(launch.block[d]);
      one.has_cluster |= launch.cluster[d] > 1;
    }
    one.config.shared_bytes = static_cast<unsigned>(launch.shared_bytes);
    one.cluster.id = kClusterDimension;
    one.cluster.value.cluster = {static_cast<unsigned>(launch.cluster[0]), static_cast<unsigned>(launch.cluster[1]),
                                 static_cast<unsigned>(launch.cluster[2])};
    one.values.resize(launch.arguments.size());
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      TensorMap& value = one.values[i];
      if (const auto* buffer = std::get_if<BufferArgument>(&launch.arguments[i])) {
        const Binding& memory = find(buffer->name);
        const Address address = memory.address + static_cast<Address>(buffer->offset) * Bytes(memory.dtype);
        std::memcpy(&value, &address, sizeof address);
      } else if (const auto* number = std::get_if<NumberArgument>(&launch.arguments[i])) {
        if (const auto* real = std::get_if<double>(&number->value)) {
          const auto narrow = static_cast<float>(*real);
          if (number->type == NumberArgument::Type::kF32) {
            std::memcpy(&value, &narrow, sizeof narrow);
          } else {
            std::memcpy(&value, real, sizeof *real);
          }
        } else if (const auto* whole = std::get_if<std::int64_t>(&number->value)) {
          std::memcpy(&value, whole, sizeof *whole);  // little-endian: the narrow types are the first bytes
        } else {
          std::memcpy(&value, &std::get<std::uint64_t>(number->value), sizeof(std::uint64_t));
        }
      } else {
        const auto& map = std::get<TensorMapArgument>(launch.arguments[i]);
        const Binding& memory = find(map.buffer);
        const auto element = Bytes(memory.dtype);
        // The driver's dimensions count from the innermost.
        std::array<std::uint64_t, 5> extents{}, strides{};
        std::array<unsigned, 5> box{}, steps_of_one{1, 1, 1, 1, 1};
        const std::size_t rank = map.shape.size();
        for (std::size_t d = 0; d < rank; ++d) {
          extents[d] = static_cast<std::uint64_t>(map.shape[rank - 1 - d]);
          box[d] = static_cast<unsigned>(map.box[rank - 1 - d]);
          if (d > 0) strides[d - 1] = static_cast<std::uint64_t>(map.strides[rank - 1 - d]) * element;
        }
        constexpr int kPromote256 = 3;
        const int swizzle = map.swizzle == 128 ? 3 : map.swizzle == 64 ? 2 : map.swizzle == 32 ? 1 : 0;
        const Address address = memory.address + static_cast<Address>(map.offset) * element;
        HONE_CUDA(encode_tiled, &value, RowOf(memory.dtype).tensor_map_code, static_cast<unsigned>(rank),
                  reinterpret_cast<void*>(address), extents.data(), strides.data(), box.data(), steps_of_one.data(), 0,
                  swizzle, kPromote256, 0);
      }
    }
    made.push_back(std::move(one));
  }
  return made;
}

Try<void> LoadedPlan::Launch(const std::vector<Step>& steps) {
  for (const auto& step : steps) {
    if (step.call) {
      if (auto called = step.call(); !called) return called;
      continue;
    }
    if (step.function == nullptr) {
      if (auto set = context_.Set(step.at, step.byte, step.bytes); !set) return set;
      continue;
    }
    if (before_) {
      if (auto called = before_(); !called) return called;
    }
    LaunchConfig config = step.config;
    config.stream = context_.stream_;
    LaunchAttribute cluster = step.cluster;
    if (step.has_cluster) {
      config.attributes = &cluster;
      config.attribute_count = 1;
    }
    std::vector<void*> parameters;
    for (const auto& value : step.values) parameters.push_back(const_cast<TensorMap*>(&value));
    HONE_CUDA(launch, &config, step.function, parameters.data(), nullptr);
  }
  return {};
}

Try<void> LoadedPlan::Prepare(std::span<const Binding> tensors) {
  const auto steps = Steps(plan_.prepare, tensors);
  if (!steps) return tl::unexpected<Failure>(steps.error());
  if (auto launched = Launch(*steps); !launched) return launched;
  return context_.Wait();
}

Try<int> LoadedPlan::Bind(std::span<const Binding> tensors) {
  auto steps = Steps(plan_.steps, tensors);
  if (!steps) return tl::unexpected<Failure>(steps.error());
  bound_.push_back(std::make_unique<Bound>());
  bound_.back()->steps = std::move(*steps);
  return static_cast<int>(bound_.size()) - 1;
}

Try<void> LoadedPlan::Run(int binding) { return Launch(bound_[static_cast<std::size_t>(binding)]->steps); }

Try<void> LoadedPlan::RunGraph(int binding) {
  Bound& bound = *bound_[static_cast<std::size_t>(binding)];
  if (bound.exec == nullptr) {
    constexpr int kThreadLocal = 1;
    HONE_CUDA(capture_begin, context_.stream_, kThreadLocal);
    const auto launched = Launch(bound.steps);
    void* graph = nullptr;
    const int ended = Driver().capture_end(context_.stream_, &graph);
    if (!launched) return launched;
    if (ended != 0) return Failed("capture_end", ended);
    const int made = Driver().graph_instantiate(&bound.exec, graph, 0);
    Driver().graph_destroy(graph);
    if (made != 0) return Failed("graph_instantiate", made);
  }
  HONE_CUDA(graph_launch, bound.exec, context_.stream_);
  return {};
}

}  // namespace hone::cuda
