#include "worker/cache_sweep.h"

#include "target/cuda/try.h"

namespace hone {
namespace {

constexpr int kTimesTheCache = 2, kThreads = 1024, kBlocksEach = 2, kElementBytes = 16;

}  // namespace

Result<std::unique_ptr<CacheSweep>> CacheSweep::Open(cuda::Context& context, const std::string& kernels) {
  auto made = std::unique_ptr<CacheSweep>(new CacheSweep(context));
  made->kernels_.emplace(HONE_TRY(FromDevice(cuda::Module::Load(context, kernels))));
  made->sweep_ = HONE_TRY(FromDevice(made->kernels_->Find("Sweep")));
  made->bytes_ = kTimesTheCache * context.device().model.l2_bytes / kElementBytes * kElementBytes;
  made->memory_ = HONE_TRY(FromDevice(context.Allocate(made->bytes_ + kElementBytes)));
  HONE_TRY(FromDevice(context.Set(made->memory_, 0, made->bytes_ + kElementBytes)));
  return made;
}

CacheSweep::~CacheSweep() {
  if (memory_ != 0) context_.Free(memory_);
}

cuda::Try<void> CacheSweep::Ask() {
  long long count = bytes_ / kElementBytes;
  cuda::Address from = memory_, never = memory_ + static_cast<cuda::Address>(bytes_);
  void* arguments[] = {&from, &count, &never};
  return context_.Launch(sweep_, kBlocksEach * context_.device().model.multiprocessors, kThreads, arguments);
}

}  // namespace hone
