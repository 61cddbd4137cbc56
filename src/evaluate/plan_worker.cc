// The worker of a plan. Nothing of the candidate runs on the host, so what is said here is said by us; the kernels
// reach the device memory of this process's context and nothing else.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "evaluate/protocol.h"
#include "evaluate/worker.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/driver.h"

namespace hone {
namespace {

using cuda::Address;
using cuda::Context;
using cuda::GpuClock;
using cuda::LoadedPlan;
template <class T>
using Try = cuda::Try<T>;

// Like HONE_TRY, for the driver's failures.
#define HONE_GPU(expr)                                             \
  __extension__({                                                  \
    auto try_ = (expr);                                            \
    if (!try_) return tl::unexpected<cuda::Failure>(try_.error()); \
    internal::Unwrap(try_);                                        \
  })

constexpr int kGraphTrials = 5;

}  // namespace

namespace internal {
template <class T>
T Unwrap(Try<T>& result) {
  return std::move(*result);
}
inline void Unwrap(Try<void>&) {}
}  // namespace internal

namespace {

class PlanWorker {
 public:
  explicit PlanWorker(WorkerSetup setup) : setup_(std::move(setup)) {}

  // The judge's memory as a whole; false when it cannot be mapped.
  bool Map() {
    const auto map = [](int descriptor, int protection) -> std::byte* {
      struct stat info{};
      if (fstat(descriptor, &info) != 0) return nullptr;
      void* at = mmap(nullptr, static_cast<std::size_t>(std::max<off_t>(info.st_size, 1)), protection, MAP_SHARED,
                      descriptor, 0);
      return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
    };
    inputs_ = map(kInputsDescriptor, PROT_READ);
    outputs_ = map(kOutputsDescriptor, PROT_READ | PROT_WRITE);
    return inputs_ != nullptr && outputs_ != nullptr;
  }

  Reply Answer(const Request& request) {
    Reply reply;
    const auto done = [&]() -> Try<void> {
      switch (request.ask) {
        case Ask::kLoad: return Load(reply);
        case Ask::kPrepare: return Prepare(reply);
        case Ask::kRun: return Run(request, reply);
        case Ask::kTime: return Time(request, reply);
        case Ask::kRelease:
        case Ask::kPing: return {};
      }
      return {};
    }();
    if (!done) {
      reply.said = Said::kDevice;
      reply.code = done.error().code;
      Say(reply, done.error().message);
    }
    reply.nonce = request.nonce;
    return reply;
  }

 private:
  static void Say(Reply& reply, const std::string& text) {
    std::strncpy(reply.text, text.c_str(), sizeof reply.text - 1);
  }

  Try<void> Load(Reply& reply) {
    const auto bytes = ReadFile(setup_.library);
    auto built = bytes ? cuda::Unpack(*bytes) : tl::unexpected<Error>(bytes.error());
    if (!built) {
      reply.said = Said::kInvalid;
      Say(reply, built.error().message);
      return {};
    }
    context_ = HONE_GPU(Context::Open(0));
    clock_ = std::make_unique<GpuClock>(HONE_GPU(GpuClock::Create(*context_)));
    plan_ = HONE_GPU(LoadedPlan::Load(*context_, *built));
    parameters_ = HONE_GPU(Mirror(setup_.parameters, setup_.parameter_places));
    flush_bytes_ = 2 * context_->device().l2_bytes + 1;
    flush_ = HONE_GPU(context_->Allocate(flush_bytes_));
    return {};
  }

  // One set of tensors in device memory: each with its whole place around it.
  struct Set {
    std::vector<Address> places;
    std::vector<LoadedPlan::Binding> tensors;
  };
  Try<Set> Mirror(const std::vector<Tensor>& tensors, const std::vector<Place>& places) {
    Set set;
    for (std::size_t i = 0; i < places.size(); ++i) {
      set.places.push_back(HONE_GPU(context_->Allocate(places[i].total)));
      set.tensors.push_back(
          {tensors[i].name, set.places[i] + static_cast<Address>(places[i].data), places[i].bytes, tensors[i].dtype});
    }
    return set;
  }

  Try<void> Upload(const Set& set, const std::vector<Place>& places, const std::byte* from) {
    for (std::size_t i = 0; i < places.size(); ++i)
      HONE_GPU(context_->CopyIn(set.places[i], from + places[i].offset, places[i].total));
    return {};
  }

  // Inputs and outputs of a pair of slots at an address of its own for each view.
  struct Bound {
    Set inputs, outputs;
    int handle = -1;
  };
  Try<Bound*> Bind(std::uint32_t from, std::uint32_t into, std::uint32_t view) {
    Bound& bound = bound_[{from, into, view}];
    if (bound.handle >= 0) return &bound;
    bound.inputs = HONE_GPU(Mirror(setup_.inputs, setup_.input_slots[from]));
    bound.outputs = HONE_GPU(Mirror(setup_.outputs, setup_.output_slots[into]));
    auto tensors = bound.inputs.tensors;
    tensors.insert(tensors.end(), parameters_.tensors.begin(), parameters_.tensors.end());
    tensors.insert(tensors.end(), bound.outputs.tensors.begin(), bound.outputs.tensors.end());
    bound.handle = HONE_GPU(plan_->Bind(tensors));
    return &bound;
  }

  Try<void> Fill(const Bound& bound, std::uint32_t from, std::uint32_t into) {
    HONE_GPU(Upload(bound.inputs, setup_.input_slots[from], inputs_));
    HONE_GPU(Upload(bound.outputs, setup_.output_slots[into], outputs_));
    return context_->Wait();
  }

  Try<void> Fetch(const Bound& bound, std::uint32_t into) {
    const auto& places = setup_.output_slots[into];
    for (std::size_t i = 0; i < places.size(); ++i)
      HONE_GPU(context_->CopyOut(outputs_ + places[i].offset, bound.outputs.places[i], places[i].total));
    return {};
  }

  // Whether what is read-only is as it was given, the red zones around it included.
  Try<bool> Unchanged(const Set& set, const std::vector<Place>& places, Zone zone, Reply& reply) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      seen_.resize(static_cast<std::size_t>(places[i].total));
      HONE_GPU(context_->CopyOut(seen_.data(), set.places[i], places[i].total));
      const auto* given = inputs_ + places[i].offset;
      const auto differs = std::mismatch(seen_.begin(), seen_.end(), given).first;
      if (differs == seen_.end()) continue;
      reply.said = Said::kWroteInput;
      reply.zone = zone;
      reply.tensor = static_cast<std::uint32_t>(i);
      reply.offset = differs - seen_.begin() - places[i].data;
      reply.size = places[i].bytes;
      return false;
    }
    return true;
  }

  Try<void> Prepare(Reply& reply) {
    HONE_GPU(Upload(parameters_, setup_.parameter_places, inputs_));
    HONE_GPU(context_->Wait());
    HONE_GPU(clock_->Start());
    HONE_GPU(plan_->Prepare(parameters_.tensors));
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(clock_->Stop()));
    HONE_GPU(Unchanged(parameters_, setup_.parameter_places, Zone::kParameter, reply));
    return {};
  }

  Try<void> Run(const Request& request, Reply& reply) {
    const auto from = request.slots[0], into = request.slots[1];
    const Bound& bound = *HONE_GPU(Bind(from, into, request.view));
    HONE_GPU(Fill(bound, from, into));
    HONE_GPU(clock_->Start());
    for (std::uint32_t i = 0; i < request.count; ++i) HONE_GPU(plan_->Run(bound.handle));
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(clock_->Stop()));
    HONE_GPU(context_->Wait());
    HONE_GPU(Fetch(bound, into));
    if (HONE_GPU(Unchanged(bound.inputs, setup_.input_slots[from], Zone::kInput, reply)))
      HONE_GPU(Unchanged(parameters_, setup_.parameter_places, Zone::kParameter, reply));
    return {};
  }

  Try<void> Once(const Bound& bound) { return graph_ ? plan_->RunGraph(bound.handle) : plan_->Run(bound.handle); }

  // Which way of asking is faster for this plan, found once.
  Try<void> ChooseWay(const Bound& bound) {
    double best[2] = {1e300, 1e300};
    for (int trial = 0; trial < kGraphTrials; ++trial) {
      for (const bool graph : {false, true}) {
        graph_ = graph;
        HONE_GPU(Once(bound));
        HONE_GPU(context_->Wait());
        HONE_GPU(clock_->Start());
        for (int i = 0; i < kGraphTrials; ++i) HONE_GPU(Once(bound));
        best[graph] = std::min(best[graph], HONE_GPU(clock_->Stop()));
      }
    }
    graph_ = best[true] < best[false];
    chosen_ = true;
    return {};
  }

  Try<void> Time(const Request& request, Reply& reply) {
    std::vector<Bound*> bounds;
    for (std::uint32_t i = 0; i < request.count; ++i)
      bounds.push_back(HONE_GPU(Bind(request.slots[i], request.slots[i], request.view)));
    for (std::uint32_t i = 0; i < request.count; ++i) HONE_GPU(Fill(*bounds[i], request.slots[i], request.slots[i]));
    if (!chosen_) HONE_GPU(ChooseWay(*bounds[0]));
    if (request.rehearse >= 0) {
      const auto slot = static_cast<std::uint32_t>(request.rehearse);
      const Bound& bound = *HONE_GPU(Bind(slot, slot, request.view));
      HONE_GPU(Fill(bound, slot, slot));
      HONE_GPU(Once(bound));
      HONE_GPU(context_->Wait());
      HONE_GPU(Fetch(bound, slot));
    }
    if (request.cold) HONE_GPU(context_->Set(flush_, static_cast<int>(++flushes_ & 0xff), flush_bytes_));
    HONE_GPU(context_->Wait());
    HONE_GPU(clock_->Start());
    for (std::uint32_t repeat = 0; repeat < request.repeats; ++repeat) {
      for (const Bound* bound : bounds) HONE_GPU(Once(*bound));
    }
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(clock_->Stop()));
    for (std::uint32_t i = 0; i < request.count; ++i) HONE_GPU(Fetch(*bounds[i], request.slots[i]));
    return {};
  }

  WorkerSetup setup_;
  std::byte *inputs_ = nullptr, *outputs_ = nullptr;  // the judge's memory
  std::unique_ptr<Context> context_;
  std::unique_ptr<GpuClock> clock_;
  std::unique_ptr<LoadedPlan> plan_;
  Set parameters_;
  std::map<std::array<std::uint32_t, 3>, Bound> bound_;
  std::vector<std::byte> seen_;
  Address flush_ = 0;
  std::int64_t flush_bytes_ = 0;
  unsigned flushes_ = 0;
  bool graph_ = false, chosen_ = false;
};

}  // namespace

int PlanWorkerMain(WorkerSetup setup) {
  PlanWorker worker(std::move(setup));
  if (!worker.Map()) {
    std::fprintf(stderr, "cannot map the judge's memory\n");
    return 3;
  }
  return ServeRequests([&](const Request& request) { return worker.Answer(request); });
}

}  // namespace hone
