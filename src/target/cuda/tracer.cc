#include "target/cuda/tracer.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/mutex.h"
#include "target/cuda/cupti_api.h"

namespace hone::cuda {
namespace {

constexpr int kKinds[] = {cupti::kKernelRecord, cupti::kMemsetRecord, cupti::kCopyRecord};
constexpr std::size_t kBufferBytes = 1 << 20, kAlignment = 8;

// CUPTI hands buffers back from whatever thread it likes.
struct Recorded {
  Mutex mutex;
  std::vector<TracedEvent> events HONE_GUARDED_BY(mutex);
};
Recorded& TheRecorded() {
  static Recorded recorded;
  return recorded;
}

void Wanted(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as fit
}

void Full(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const auto api = cupti::TheApi();
  Recorded& recorded = TheRecorded();
  const MutexLock lock(recorded.mutex);
  cupti::Record* record = nullptr;
  while (api && valid > 0 && (*api)->next_record(buffer, valid, &record) == 0) {
    using Kind = TracedEvent::Kind;
    TracedEvent event{.begin_ns = record->begin_ns, .end_ns = record->end_ns};
    event.kind = record->kind == cupti::kKernelRecord   ? Kind::kKernel
                 : record->kind == cupti::kMemsetRecord ? Kind::kMemset
                                                        : Kind::kCopy;
    if (event.kind == Kind::kKernel) {
      const auto& kernel = *static_cast<const cupti::KernelRecord*>(record);
      if (kernel.name != nullptr) event.name = kernel.name;
      std::copy(std::begin(kernel.grid), std::end(kernel.grid), event.grid.begin());
      std::copy(std::begin(kernel.block), std::end(kernel.block), event.block.begin());
      event.shared_bytes = kernel.dynamic_shared_bytes;
    }
    recorded.events.push_back(std::move(event));
  }
  std::free(buffer);
}

}  // namespace

Result<std::unique_ptr<Tracer>> Tracer::Start() {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  HONE_TRY(cupti::Done(*api_, "record_callbacks", api_->record_callbacks(Wanted, Full)));
  auto tracer = std::unique_ptr<Tracer>(new Tracer);
  for (const int kind : kKinds) HONE_TRY(cupti::Done(*api_, "record_enable", api_->record_enable(kind)));
  return tracer;
}

Tracer::~Tracer() {
  const auto api = cupti::TheApi();
  if (!api) return;
  (*api)->record_flush(cupti::kFlushForced);
  for (const int kind : kKinds) (*api)->record_disable(kind);
}

Result<std::vector<TracedEvent>> Tracer::Take() {
  const auto* api_ = HONE_TRY(cupti::TheApi());
  HONE_TRY(cupti::Done(*api_, "record_flush", api_->record_flush(cupti::kFlushForced)));
  Recorded& recorded = TheRecorded();
  const MutexLock lock(recorded.mutex);
  auto events = std::exchange(recorded.events, {});
  std::stable_sort(events.begin(), events.end(),
                   [](const TracedEvent& a, const TracedEvent& b) { return a.begin_ns < b.begin_ns; });
  return events;
}

}  // namespace hone::cuda
