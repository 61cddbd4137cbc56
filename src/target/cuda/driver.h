// The CUDA driver, opened at run time: the few calls that we make of it, with its errors as Results. One process uses
// one device. Not thread-safe beyond what the driver is: a Context belongs to the thread that made it current.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/plan.h"
#include "target/cuda/built_plan.h"
#include "target/device_model.h"

namespace hone::cuda {

struct Device {
  int ordinal = 0;
  std::string uuid;   // "GPU-..."
  int driver = 0;     // 13000 = CUDA 13.0
  DeviceModel model;  // its facts; without ceilings and libraries
};

// What this machine has, without making a context. kNotFound says in a line what is missing: the driver, or a device.
Result<std::vector<Device>> FindDevices();

using Address = std::uint64_t;  // of device memory

// The error code of a failed call is the driver's CUresult.
struct Failure {
  int code = 0;
  std::string message;  // "cuLaunchKernelEx: CUDA_ERROR_ILLEGAL_ADDRESS"
};
template <class T>
using Try = tl::expected<T, Failure>;

// The device's primary context, current in this thread. The destructor gives it back. Everything made of it must go
// first.
class Context {
 public:
  static Try<std::unique_ptr<Context>> Open(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Device& device() const { return device_; }

  Try<Address> Allocate(std::int64_t bytes);  // until it is freed or the context goes
  void Free(Address address);                 // waits for what runs
  Try<std::int64_t> FreeBytes();              // that the device still has
  Try<void> CopyIn(Address to, const void* from, std::int64_t bytes);
  Try<void> CopyOut(void* to, Address from, std::int64_t bytes);
  Try<void> Copy(Address to, Address from, std::int64_t bytes);  // the four in the order of the launches
  Try<void> Set(Address at, int byte, std::int64_t bytes);
  Try<void> Set16(Address at, std::uint16_t pattern, std::int64_t count);
  // `arguments` point at the kernel's, which are read before this returns. `shared_bytes` of dynamic shared memory.
  Try<void> Launch(void* function, std::int64_t blocks, int threads, std::span<void* const> arguments,
                   int shared_bytes = 0);
  Try<void> Wait();     // for all that was asked here; errors of kernels come out
  Try<bool> Done();     // whether all that was asked here is; waits for nothing
  Try<void> WaitAll();  // for all that anybody asked in this context, on whatever stream

  // Host memory that kernels see at the same address, until the context goes.
  Try<void*> AllocateHost(std::int64_t bytes);
  // The part of the second-level cache that may be set aside, in bytes, and making all that lies there ordinary again.
  Try<std::int64_t> PersistingBytes();
  Try<void> ResetPersisting();
  // Starts what the driver starts on first use: its thread for callbacks.
  Try<void> WarmUp();

  // Asks a thread of the driver's to call `function` when all before it is done; what is asked later waits for it.
  Try<void> CallFromStream(void (*function)(void*), void* data);
  // To a profiler that watches this process: what is asked between the two is meant.
  Try<void> BeginWatched();
  Try<void> EndWatched();

  void* stream() const { return stream_; }   // that all of this goes to, for libraries that take one
  void* handle() const { return context_; }  // the driver's, for libraries that take one

 private:
  friend class LoadedPlan;
  friend class GpuClock;
  friend class Exchange;
  explicit Context(Device device) : device_(std::move(device)) {}
  Device device_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
};

// Kernels of ours, from a cubin.
class Module {
 public:
  static Try<Module> Load(Context& context, const std::string& cubin);
  Module(Module&& other) noexcept;
  Module& operator=(Module&&) = delete;
  ~Module();
  Try<void*> Find(const std::string& symbol) const;  // for Context::Launch

 private:
  explicit Module(void* module) : module_(module) {}
  void* module_ = nullptr;
};

// Device memory that two processes share: one makes it and hands on its descriptor, the other opens that. Each maps it
// as often as it likes, at another address every time. The context has to outlive it.
class Exchange {
 public:
  static Try<std::unique_ptr<Exchange>> Create(Context& context, std::int64_t bytes);  // rounded up, see bytes()
  static Try<std::unique_ptr<Exchange>> Open(Context& context, int descriptor, std::int64_t bytes);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  enum class Access { kRead, kReadWrite };
  Try<Address> Map(Access access);  // what lies before and behind is no memory; until this goes
  int descriptor() const { return descriptor_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  Exchange(Context& context, std::int64_t bytes) : context_(context), bytes_(bytes) {}
  Context& context_;
  std::int64_t bytes_;
  unsigned long long handle_ = 0;
  int descriptor_ = -1;
  std::vector<Address> reserved_;
};

// Two events on the context's stream.
class GpuClock {
 public:
  static Try<GpuClock> Create(Context& context);
  GpuClock(GpuClock&& other) noexcept;
  GpuClock& operator=(GpuClock&&) = delete;
  ~GpuClock();
  Try<void> Start();
  Try<double> Stop();  // waits; microseconds since Start, by the device

 private:
  explicit GpuClock(Context& context) : context_(&context) {}
  Context* context_;
  void *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace hone::cuda
