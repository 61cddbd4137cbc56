// What both workers of a device have (plan_worker.cc, cuda_module_worker.cc): a context, the judge's memory in it, a
// clock, and the means to make a run start from nothing: caches swept, shared memory full of NaNs. Opened before there
// is a candidate. One thread. Failures are the driver's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "protocol/protocol.h"
#include "target/cuda/driver.h"

namespace hone {

class DeviceRoom {
 public:
  static cuda::Try<std::unique_ptr<DeviceRoom>> Open(const WorkerSetup& setup);

  cuda::Context& context() { return *context_; }
  cuda::GpuClock& clock() { return *clock_; }

  // The judge's memory at addresses of its own for each view. Where inputs are guarded, kernels that write to one
  // fault.
  struct View {
    cuda::Address inputs = 0, outputs = 0;
  };
  cuda::Try<View> Map(std::uint32_t view);
  void GuardInputs(bool guard) { guard_inputs_ = guard; }
  static cuda::Address At(cuda::Address base, const Place& place) {
    return base + static_cast<cuda::Address>(place.offset + place.data);
  }

  // All of these are queued.
  cuda::Try<void> SweepCache();  // nothing that a candidate has touched is left in the second-level cache
  cuda::Try<void> FillShared();  // all multiprocessors' shared memory holds NaNs
  // Until LetGo, or for some milliseconds, the device is full: what is queued meanwhile on any stream starts after it.
  // Returns when that is so.
  cuda::Try<void> Hold();
  // The same for the context's stream alone, which is busy until LetGo, or for a while.
  cuda::Try<void> HoldStream();
  void LetGo();

 private:
  DeviceRoom() = default;
  cuda::Try<void> LaunchHold(int blocks, int shared_bytes, long long nanoseconds);
  std::unique_ptr<cuda::Context> context_;
  std::unique_ptr<cuda::Exchange> input_memory_, output_memory_;
  std::unique_ptr<cuda::GpuClock> clock_;
  std::optional<cuda::Module> kernels_;
  void *fill_shared_ = nullptr, *hold_ = nullptr;
  std::vector<View> views_[2];  // with the inputs writable, and guarded
  cuda::Address sweep_ = 0, arrived_ = 0;
  std::int64_t sweep_bytes_ = 0;
  unsigned sweeps_ = 0, turn_ = 0, expected_ = 0;
  volatile unsigned* go_ = nullptr;  // [0] by us, [1] by the device
  bool guard_inputs_ = false;
};

}  // namespace hone
