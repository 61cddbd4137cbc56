#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "hone/module.h"
#include "protocol/protocol.h"
#include "worker/loaded_module.h"
#include "worker/sandbox.h"
#include "worker/serve_requests.h"
#include "worker/worker.h"

namespace hone {
namespace {

constexpr std::ptrdiff_t kLineBytes = 64;
// What another core has just written does not stay in this one's second-level cache at the first read: max(x + b, 0)
// over 256 KB takes 2.3 us after it has been at work there before, 4.4 to 5.8 after one read of each line, 2.6 to 3.0
// after four (AMD EPYC, busy; 2026-11-22). What is larger than that cache gains nothing.
constexpr int kPasses = 4;
constexpr std::size_t kReadAgainBytes = 1 << 20;
constexpr long kAfterNs = 100'000;  // how long other threads are watched once hone_run has returned

std::uint64_t Now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// A tensor as it is mapped here, for the fault handler.
struct Mapped {
  std::uint64_t begin, end;  // of the tensor itself
  Zone zone;
  std::uint32_t tensor;
};

// Read by the signal handler: filled before there is a candidate, constant after.
std::vector<Mapped> mapped_tensors;

void Locate(Reply& fault) {
  std::int64_t nearest = kGuardBytes + 2 * kPageBytes;
  for (const Mapped& one : mapped_tensors) {
    const auto before = static_cast<std::int64_t>(one.begin - fault.address);
    const auto after = static_cast<std::int64_t>(fault.address - one.end);
    const std::int64_t distance = before > 0 ? before : after >= 0 ? after + 1 : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    fault.zone = one.zone;
    fault.tensor = one.tensor;
    fault.offset = -before;
    fault.size = static_cast<std::int64_t>(one.end - one.begin);
  }
}

// What other threads do while this one sleeps for a moment, as nanoseconds of processor time.
std::uint64_t WorkOfOtherThreads() {
  // The thread's clock first: under RLIMIT_CPU the process's clock knows of a running thread only what it was told
  // last, and reading the thread's tells it.
  const auto own = Now(CLOCK_THREAD_CPUTIME_ID);
  const auto all = Now(CLOCK_PROCESS_CPUTIME_ID);
  const timespec time{0, kAfterNs};
  nanosleep(&time, nullptr);
  const auto mine = Now(CLOCK_THREAD_CPUTIME_ID) - own;
  const auto others = Now(CLOCK_PROCESS_CPUTIME_ID) - all;
  return others > mine ? others - mine : 0;
}

class Worker {
 public:
  explicit Worker(WorkerSetup setup) : setup_(std::move(setup)) {}

  Result<void> Prepare() {
    for (const auto& slot : setup_.input_slots) {
      for (int view = 0; view < setup_.views; ++view)
        inputs_.push_back(HONE_TRY(Map(slot, setup_.inputs, Zone::kInput)));
    }
    for (const auto& slot : setup_.output_slots) {
      for (int view = 0; view < setup_.views; ++view)
        outputs_.push_back(HONE_TRY(Map(slot, setup_.outputs, Zone::kOutput)));
    }
    parameters_ = HONE_TRY(Map(setup_.parameter_places, setup_.parameters, Zone::kParameter));
    close(kInputsDescriptor);
    close(kOutputsDescriptor);
    sweep_.resize(static_cast<std::size_t>(setup_.flush_bytes) / sizeof(std::uint64_t));
    // What modules are linked with is loaded while files can still be opened. Absent ones are no loss: a module that
    // needs them says so.
    for (const char* runtime : {"libstdc++.so.6", "libm.so.6", "libmvec.so.1", "libgomp.so.1"})
      dlopen(runtime, RTLD_NOW | RTLD_GLOBAL);
    const auto own = reserved_ + setup_.flush_bytes + (256 << 20);  // the program itself
    return CloseSandbox({.library = setup_.library,
                         .address_space_bytes = static_cast<std::uint64_t>(own + setup_.allowance_bytes),
                         .allowance_bytes = static_cast<std::uint64_t>(setup_.allowance_bytes),
                         .cpu_seconds = static_cast<std::uint64_t>(setup_.cpu_seconds)},
                        Locate);
  }

  Reply WorkerAnswer(const Request& request) {
    return LoadedModule::Guarded(request, [&](Reply& reply) {
      switch (request.ask) {
        case Ask::kLoad: module_.Load(setup_.library, reply); break;
        case Ask::kPrepare: Prepare(reply); break;
        case Ask::kRun: Run(request, reply); break;
        case Ask::kRelease: module_.Release(); break;
        case Ask::kTime: Time(request, reply); break;
        case Ask::kUnload:
        case Ask::kPing: break;
      }
    });
  }

 private:
  // One slot, at an address of its own: every tensor between two guards.
  Result<std::vector<DLTensor>> Map(const std::vector<Place>& places, const std::vector<Tensor>& tensors, Zone zone) {
    const bool output = zone == Zone::kOutput;
    std::int64_t size = kGuardBytes;
    for (const Place& place : places) size += place.total + kGuardBytes;
    void* reserved =
        mmap(nullptr, static_cast<std::size_t>(size), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return Fail(ErrorKind::kIo, "cannot reserve addresses for the tensors");
    reserved_ += size;
    std::vector<DLTensor> made;
    auto* at = static_cast<char*>(reserved) + kGuardBytes;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Place& place = places[i];
      if (mmap(at, static_cast<std::size_t>(place.total), output ? PROT_READ | PROT_WRITE : PROT_READ,
               MAP_SHARED | MAP_FIXED, output ? kOutputsDescriptor : kInputsDescriptor, place.offset) == MAP_FAILED) {
        return Fail(ErrorKind::kIo, "cannot map a tensor");
      }
      const auto begin = reinterpret_cast<std::uint64_t>(at) + static_cast<std::uint64_t>(place.data);
      mapped_tensors.push_back(
          {begin, begin + static_cast<std::uint64_t>(place.bytes), zone, static_cast<std::uint32_t>(i)});
      made.push_back(ViewOf(tensors[i], at + place.data, kDLCPU));
      at += place.total + kGuardBytes;
    }
    return made;
  }

  HoneCall Call(std::size_t slot, std::size_t view) { return Call(slot, slot, view); }

  HoneCall Call(std::size_t from, std::size_t into, std::size_t view) {
    auto& outputs = outputs_[into * static_cast<std::size_t>(setup_.views) + view];
    auto [given, is_new] = given_.try_emplace({from, into, view});
    std::vector<DLTensor>& inputs = given->second;
    if (is_new) inputs = inputs_[from * static_cast<std::size_t>(setup_.views) + view];
    for (std::size_t i = 0; is_new && i < inputs.size(); ++i) {
      if (const auto update = UpdateOf(setup_, i)) inputs[i].data = outputs[*update].data;
    }
    return {.inputs = inputs.data(),
            .input_count = static_cast<std::int32_t>(inputs.size()),
            .parameters = parameters_.data(),
            .parameter_count = static_cast<std::int32_t>(parameters_.size()),
            .outputs = outputs.data(),
            .output_count = static_cast<std::int32_t>(outputs.size()),
            .threads = setup_.threads,
            .state = module_.state(),
            .stream = nullptr};
  }

  void Prepare(Reply& reply) {
    if (!module_.prepares()) return;
    const auto begin = Now();
    if (module_.Prepare(Call(0, 0), reply)) reply.nanoseconds = Now() - begin;
  }

  void Run(const Request& request, Reply& reply) {
    const HoneCall call = Call(request.slots[0], request.slots[1], request.view);
    const auto begin = Now();
    for (std::uint32_t i = 0; i < request.count; ++i) {
      if (!module_.Run(call, reply)) return;
    }
    reply.nanoseconds = Now() - begin;
    if (request.count == 1) reply.after_ns = WorkOfOtherThreads();
  }

  void Time(const Request& request, Reply& reply) {
    HoneCall calls[kMaxSlots];
    for (std::uint32_t i = 0; i < request.count; ++i) calls[i] = Call(request.slots[i], request.view);
    if (request.warm) ReadInputs(std::span(calls, request.count));
    if (request.cold) Flush(calls[0]);
    const auto begin = Now();
    for (std::uint32_t repeat = 0; repeat < request.repeats; ++repeat) {
      for (std::uint32_t i = 0; i < request.count; ++i) {
        if (!module_.Run(calls[i], reply)) return;
      }
    }
    reply.nanoseconds = Now() - begin;
  }

  // On this thread alone: readers on the other cores put aside whoever is awake there, and cost more than they save.
  static void ReadInputs(std::span<const HoneCall> calls) {
    std::size_t bytes = 0;
    for (const HoneCall& call : calls) {
      for (std::int32_t i = 0; i < call.input_count; ++i) bytes += BytesOf(call.inputs[i]);
    }
    for (int pass = bytes <= kReadAgainBytes ? kPasses : 1; pass > 0; --pass) {
      for (const HoneCall& call : calls) {
        for (std::int32_t i = 0; i < call.input_count; ++i) {
          const auto* at = static_cast<const volatile char*>(call.inputs[i].data);
          for (const auto* end = at + BytesOf(call.inputs[i]); at < end; at += kLineBytes) static_cast<void>(*at);
        }
      }
    }
  }

  static std::size_t BytesOf(const DLTensor& tensor) {
    std::size_t bytes = tensor.dtype.bits / 8;
    for (int i = 0; i < tensor.ndim; ++i) bytes *= static_cast<std::size_t>(tensor.shape[i]);
    return bytes;
  }

  void Flush(const HoneCall& call) {
    for (const auto& [tensors, count] : {std::pair{call.inputs, call.input_count},
                                         {call.parameters, call.parameter_count},
                                         {const_cast<const DLTensor*>(call.outputs), call.output_count}}) {
      for (std::int32_t i = 0; i < count; ++i) FlushLines(tensors[i]);
    }
    for (std::uint64_t& word : sweep_) word += 1;
  }

#ifdef __x86_64__
  __attribute__((target("clflushopt"))) static void FlushOptimized(const char* at, const char* end) {
    for (; at < end; at += 64) _mm_clflushopt(const_cast<char*>(at));
    _mm_sfence();
  }
  static void FlushLines(const DLTensor& tensor) {
    const std::size_t bytes = BytesOf(tensor);
    const auto* at = static_cast<const char*>(tensor.data);
    unsigned a, b = 0, c, d;
    static const bool optimized = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 23)) != 0;
    if (optimized) return FlushOptimized(at, at + bytes);
    for (const char* line = at; line < at + bytes; line += 64) _mm_clflush(line);
    _mm_sfence();
  }
#else
  static void FlushLines(const DLTensor&) {}  // the sweep does it
#endif

  WorkerSetup setup_;
  std::vector<std::vector<DLTensor>> inputs_, outputs_;  // [slot * views + view][tensor]
  std::vector<DLTensor> parameters_;
  std::map<std::array<std::size_t, 3>, std::vector<DLTensor>> given_;  // inputs of a call, by its slots and view
  std::vector<std::uint64_t> sweep_;
  std::int64_t reserved_ = 0;  // addresses that we use ourselves
  LoadedModule module_;
};

}  // namespace

int HostModuleWorkerMain(WorkerSetup setup) {
  Worker worker(std::move(setup));
  if (const auto prepared = worker.Prepare(); !prepared) {
    std::fprintf(stderr, "%s\n", prepared.error().message.c_str());
    return 3;
  }
  return ServeRequests([] {}, [&](const Request& request) { return worker.WorkerAnswer(request); });
}

}  // namespace hone
