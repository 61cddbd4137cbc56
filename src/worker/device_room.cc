#include "worker/device_room.h"

#include <unistd.h>

#include <chrono>

#include "target/cuda/try.h"

namespace hone {
namespace {

using cuda::Address;
using cuda::Try;

constexpr long long kFillNs = 4'000;              // a few times what the blocks need to get to all multiprocessors
constexpr long long kHoldNs = 3'000'000;          // for a module that waits in hone_run, which would be for ever
constexpr long long kHoldStreamNs = 300'000'000;  // until the judge has looked
constexpr int kFillThreads = 1024, kHoldThreads = 32;

}  // namespace

Try<std::unique_ptr<DeviceRoom>> DeviceRoom::Open(const WorkerSetup& setup) {
  auto room = std::unique_ptr<DeviceRoom>(new DeviceRoom);
  room->context_ = HONE_GPU(cuda::Context::Open(0));
  cuda::Context& context = *room->context_;
  room->clock_ = std::make_unique<cuda::GpuClock>(HONE_GPU(cuda::GpuClock::Create(context)));
  room->input_memory_ = HONE_GPU(cuda::Exchange::Open(context, kInputsDescriptor, setup.input_bytes));
  room->output_memory_ = HONE_GPU(cuda::Exchange::Open(context, kOutputsDescriptor, setup.output_bytes));
  // Whoever had them could map the inputs once more, to write them. A module can still ask the driver for as much with
  // what is mapped (cuMemSetAccess, cuMemRetainAllocationHandle): no driver call refuses that. So nothing is believed
  // that lies there: the judge compares a call's outputs, and its inputs, with what it has in memory of its own.
  close(kInputsDescriptor);
  close(kOutputsDescriptor);
  room->sweep_bytes_ = 2 * context.device().model.l2_bytes + 1;
  room->sweep_ = HONE_GPU(context.Allocate(room->sweep_bytes_));
  room->kernels_.emplace(HONE_GPU(cuda::Module::Load(context, setup.kernels)));
  room->fill_shared_ = HONE_GPU(room->kernels_->Find("FillShared"));
  room->hold_ = HONE_GPU(room->kernels_->Find("Hold"));
  room->arrived_ = HONE_GPU(context.Allocate(sizeof(unsigned)));
  HONE_GPU(context.Set(room->arrived_, 0, sizeof(unsigned)));
  room->go_ = static_cast<volatile unsigned*>(HONE_GPU(context.AllocateHost(2 * sizeof(unsigned))));
  room->go_[0] = 0;
  room->go_[1] = 0;
  return room;
}

Try<DeviceRoom::View> DeviceRoom::Map(std::uint32_t view) {
  auto& views = views_[guard_inputs_];
  while (views.size() <= view) {
    using Access = cuda::Exchange::Access;
    View one;
    one.inputs = HONE_GPU(input_memory_->Map(guard_inputs_ ? Access::kRead : Access::kReadWrite));
    one.outputs = HONE_GPU(output_memory_->Map(Access::kReadWrite));
    views.push_back(one);
  }
  return views[view];
}

Try<void> DeviceRoom::SweepCache() {
  HONE_GPU(context_->ResetPersisting());
  return context_->Set(sweep_, static_cast<int>(++sweeps_ & 0xff), sweep_bytes_);
}

Try<void> DeviceRoom::FillShared() {
  const int bytes = context_->device().model.limits.block_shared_bytes;
  auto words = static_cast<unsigned>(bytes / 4);
  long long nanoseconds = kFillNs;
  void* arguments[] = {&words, &nanoseconds};
  return context_->Launch(fill_shared_, context_->device().model.multiprocessors, kFillThreads, arguments, bytes);
}

Try<void> DeviceRoom::LaunchHold(int blocks, int shared_bytes, long long nanoseconds) {
  ++turn_;
  expected_ += static_cast<unsigned>(blocks);
  auto* go = const_cast<unsigned*>(go_);
  auto arrived = arrived_;
  auto turn = turn_, expected = expected_;
  void* arguments[] = {&go, &arrived, &expected, &turn, &nanoseconds};
  return context_->Launch(hold_, blocks, kHoldThreads, arguments, shared_bytes);
}

Try<void> DeviceRoom::HoldStream() {
  HONE_GPU(context_->WaitAll());
  return LaunchHold(1, 0, kHoldStreamNs);
}

Try<void> DeviceRoom::Hold() {
  HONE_GPU(context_->WaitAll());
  HONE_GPU(LaunchHold(context_->device().model.multiprocessors, context_->device().model.limits.block_shared_bytes,
                      kHoldNs));
  // The device may be another's for a time slice: patience, but not for ever.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (go_[1] != turn_ && std::chrono::steady_clock::now() < end) {
  }
  return {};
}

void DeviceRoom::LetGo() { go_[0] = turn_; }

}  // namespace hone
