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
#include "target/cuda/driver_api.h"
#include "target/generation.h"

namespace hone::cuda {
namespace {

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
  if (shared_bytes > 0) HONE_CUDA(function_set, function, kMaxDynamicShared, shared_bytes);
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

Try<void> Context::CallFromStream(void (*function)(void*), void* data) {
  HONE_CUDA(host_function, stream_, function, data);
  return {};
}

Try<void> Context::BeginWatched() {
  HONE_CUDA(profiler_start);
  return {};
}

Try<void> Context::EndWatched() {
  HONE_CUDA(profiler_stop);
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

}  // namespace hone::cuda
