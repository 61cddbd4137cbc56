// The worker of a module on a CUDA device. Its code shares this process and this context with us, as on a CPU; its
// tensors lie in device memory that the judge shares. Three things keep the times true: before a clock starts the whole
// device stands still or is held full, so that nothing of what is timed can run before; when the stream is done, the
// device is waited for, and what that takes counts; and the module cannot make threads that would ask for more later.
// What is said here is held against the judge's own clock (timing.cc), since a module could change us.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/protocol.h"
#include "target/cuda/driver.h"
#include "target/cuda/try.h"
#include "worker/device_room.h"
#include "worker/loaded_module.h"
#include "worker/sandbox.h"
#include "worker/serve_requests.h"
#include "worker/worker.h"

namespace hone {
namespace {

using cuda::Address;
using cuda::Try;

constexpr int kIdleTrials = 20;
constexpr long kHeldNs = 2'000'000;
constexpr std::uint64_t kHostBytes = std::uint64_t{16} << 30;  // the driver's own, beside what a candidate may use

std::uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

class CudaModuleWorker {
 public:
  explicit CudaModuleWorker(WorkerSetup setup) : setup_(std::move(setup)) {}

  // The device is opened while files may be; then the sandbox closes. A failure is the answer to whatever is asked.
  void GetReady() {
    ready_ = Open();
    if (!ready_) return;
    for (const char* runtime : {"libstdc++.so.6", "libm.so.6", "libgomp.so.1"}) dlopen(runtime, RTLD_NOW | RTLD_GLOBAL);
    const auto closed = CloseSandbox({.library = setup_.library,
                                      .data_bytes = kHostBytes + static_cast<std::uint64_t>(setup_.allowance_bytes),
                                      .allowance_bytes = static_cast<std::uint64_t>(setup_.allowance_bytes),
                                      .cpu_seconds = static_cast<std::uint64_t>(setup_.cpu_seconds),
                                      .device = true},
                                     [](Reply&) {});
    if (!closed) ready_ = tl::unexpected<cuda::Failure>(cuda::Failure{-1, closed.error().message});
  }

  Reply Answer(const Request& request) {
    return LoadedModule::Guarded(request, [&](Reply& reply) {
      const auto done = Do(request, reply);
      if (done) return;
      reply.code = done.error().code;
      Say(reply, Said::kDevice, done.error().message.c_str());
    });
  }

 private:
  Try<void> Open() {
    room_ = HONE_GPU(DeviceRoom::Open(setup_));
    cuda::Context& context = room_->context();
    HONE_GPU(context.WarmUp());
    HONE_GPU(room_->FillShared());
    HONE_GPU(room_->SweepCache());
    HONE_GPU(room_->Hold());
    room_->LetGo();
    persisting_bytes_ = HONE_GPU(context.PersistingBytes());
    idle_ns_ = ~std::uint64_t{0};
    for (int i = 0; i < kIdleTrials; ++i) idle_ns_ = std::min(idle_ns_, HONE_GPU(TimeOfTheRest()));
    return {};
  }

  Try<void> Do(const Request& request, Reply& reply) {
    if (!ready_) return ready_;
    room_->LetGo();
    switch (request.ask) {
      case Ask::kLoad: room_->GuardInputs(request.guard_inputs != 0); return Stood(module_.Load(setup_.library, reply));
      case Ask::kPrepare: return Prepare(reply);
      case Ask::kRun: return Run(request, reply);
      case Ask::kTime: return Time(request, reply);
      case Ask::kRelease: module_.Release(); return room_->context().WaitAll();
      case Ask::kUnload: return {};
      case Ask::kPing: return Ping();
    }
    return {};
  }

  // A kernel that faulted says more than the status that a module returned because of it.
  Try<void> Stood(bool said_well) { return said_well ? Try<void>() : room_->context().WaitAll(); }

  // How long the way to the device and back takes, for the judge's clock.
  Try<void> Ping() {
    HONE_GPU(room_->clock().Start());
    HONE_GPU(room_->clock().Stop());
    return {};
  }

  // Until all that was asked of the device is done, beside what waiting for nothing takes.
  Try<std::uint64_t> TimeOfTheRest() {
    const auto begin = Now();
    HONE_GPU(room_->context().WaitAll());
    return Now() - begin;
  }
  Try<std::uint64_t> Rest() {
    const auto rest = HONE_GPU(TimeOfTheRest());
    return rest > 2 * idle_ns_ ? rest - idle_ns_ : 0;
  }

  // The tensors of a slot in a view, made when first asked for.
  struct Tensors {
    std::vector<DLTensor> inputs, parameters, outputs;
  };
  static std::vector<DLTensor> At(const std::vector<Tensor>& tensors, const std::vector<Place>& places, Address base) {
    std::vector<DLTensor> made;
    for (std::size_t i = 0; i < places.size(); ++i)
      made.push_back(ViewOf(tensors[i], reinterpret_cast<void*>(DeviceRoom::At(base, places[i])), kDLCUDA));
    return made;
  }
  // `tensors` is what the call points at. The parameters stay where hone_prepare saw them.
  Try<HoneCall> Call(std::uint32_t from, std::uint32_t into, std::uint32_t view, Tensors& tensors) {
    const auto at = HONE_GPU(room_->Map(view));
    const auto first = HONE_GPU(room_->Map(0));
    tensors.inputs = At(setup_.inputs, setup_.input_slots[from], at.inputs);
    tensors.parameters = At(setup_.parameters, setup_.parameter_places, first.inputs);
    tensors.outputs = At(setup_.outputs, setup_.output_slots[into], at.outputs);
    for (std::size_t i = 0; i < tensors.inputs.size(); ++i) {
      if (const auto update = UpdateOf(setup_, i)) tensors.inputs[i].data = tensors.outputs[*update].data;
    }
    return HoneCall{.inputs = tensors.inputs.data(),
                    .input_count = static_cast<std::int32_t>(tensors.inputs.size()),
                    .parameters = tensors.parameters.data(),
                    .parameter_count = static_cast<std::int32_t>(tensors.parameters.size()),
                    .outputs = tensors.outputs.data(),
                    .output_count = static_cast<std::int32_t>(tensors.outputs.size()),
                    .threads = 1,
                    .state = module_.state(),
                    .stream = room_->context().stream()};
  }

  Try<void> Prepare(Reply& reply) {
    if (!module_.prepares()) return {};
    Tensors tensors;
    const HoneCall call = HONE_GPU(Call(0, 0, 0, tensors));
    HONE_GPU(room_->context().WaitAll());
    const auto begin = Now();
    const bool done = module_.Prepare(call, reply);
    HONE_GPU(room_->context().WaitAll());
    if (done) reply.nanoseconds = Now() - begin;
    return {};
  }

  Try<void> Run(const Request& request, Reply& reply) {
    Tensors tensors;
    const HoneCall call = HONE_GPU(Call(request.slots[0], request.slots[1], request.view, tensors));
    if (request.held != 0) return RunHeld(call, reply);
    if (request.count == 1 && request.keep_shared == 0) HONE_GPU(room_->FillShared());
    HONE_GPU(room_->context().WaitAll());
    HONE_GPU(room_->clock().Start());
    for (std::uint32_t i = 0; i < request.count; ++i) {
      if (!module_.Run(call, reply)) return Stood(false);
    }
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(room_->clock().Stop()));
    reply.after_ns = HONE_GPU(Rest());
    reply.nanoseconds += reply.after_ns;
    const auto persisting = HONE_GPU(room_->context().PersistingBytes());
    reply.persisting_bytes = std::max<std::int64_t>(0, persisting - persisting_bytes_);
    return {};
  }

  // Work that waits for the stream is not begun when this returns, and work that does not is most likely done.
  Try<void> RunHeld(const HoneCall& call, Reply& reply) {
    HONE_GPU(room_->HoldStream());
    if (!module_.Run(call, reply)) return Stood(false);
    const timespec time{0, kHeldNs};
    nanosleep(&time, nullptr);
    reply.held = !HONE_GPU(room_->context().Done());
    return {};
  }

  Try<void> Time(const Request& request, Reply& reply) {
    std::vector<Tensors> tensors(request.count);
    std::vector<HoneCall> calls;
    for (std::uint32_t i = 0; i < request.count; ++i)
      calls.push_back(HONE_GPU(Call(request.slots[i], request.slots[i], request.view, tensors[i])));
    if (request.cold) HONE_GPU(room_->SweepCache());
    // On an idle device the clock would start before the first launch comes. A busy one is not enough: on a stream of
    // its own a module's work would not wait for it.
    const bool hold = request.cold != 0 || request.brief != 0;
    if (hold) HONE_GPU(room_->Hold());
    if (!hold) HONE_GPU(room_->context().WaitAll());
    HONE_GPU(room_->clock().Start());
    for (std::uint32_t repeat = 0; repeat < request.repeats; ++repeat) {
      for (const HoneCall& call : calls) {
        if (!module_.Run(call, reply)) return Stood(false);
      }
    }
    if (hold) room_->LetGo();
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(room_->clock().Stop()));
    reply.after_ns = HONE_GPU(Rest());
    reply.nanoseconds += reply.after_ns;
    return {};
  }

  WorkerSetup setup_;
  std::unique_ptr<DeviceRoom> room_;
  LoadedModule module_;
  Try<void> ready_;
  std::int64_t persisting_bytes_ = 0;  // as the system had it
  std::uint64_t idle_ns_ = 0;          // waiting for a device that does nothing
};

}  // namespace

int CudaModuleWorkerMain(WorkerSetup setup) {
  CudaModuleWorker worker(std::move(setup));
  return ServeRequests([&] { worker.GetReady(); }, [&](const Request& request) { return worker.Answer(request); });
}

}  // namespace hone
