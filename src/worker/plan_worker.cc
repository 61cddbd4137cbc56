// The worker of a plan. Nothing of the candidate runs on the host, so what is said here is said by us; the kernels
// reach the device memory of this process's context and nothing else: the slots that the judge shares with us, and
// buffers of their own. The judge fills the slots before a run and looks at them afterwards.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "protocol/protocol.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/driver.h"
#include "target/cuda/loaded_plan.h"
#include "target/cuda/try.h"
#include "worker/device_room.h"
#include "worker/serve_requests.h"
#include "worker/worker.h"

namespace hone {
namespace {

using cuda::Address;
using cuda::LoadedPlan;
template <class T>
using Try = cuda::Try<T>;

// To choose the way of asking. A launch takes microseconds: of a plan that runs for milliseconds few trials tell.
constexpr int kGraphTrials = 5;
constexpr double kGraphTrialUs = 2000, kGraphTrialsUs = 20'000;
constexpr int kBufferPoison = 0xff;  // a NaN in every real type, -1 in the others

class PlanWorker {
 public:
  explicit PlanWorker(WorkerSetup setup) : setup_(std::move(setup)) {}

  // What no candidate is needed for. A failure is the answer to whatever is asked.
  void GetReady() { ready_ = Open(); }

  Reply Answer(const Request& request) {
    Reply reply;
    const auto done = [&]() -> Try<void> {
      if (!ready_) return ready_;
      switch (request.ask) {
        case Ask::kLoad: return Load(request, reply);
        case Ask::kPrepare: return Prepare(reply);
        case Ask::kRun: return Run(request, reply);
        case Ask::kTime: return Time(request, reply);
        case Ask::kUnload: return Unload();
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

  Try<void> Open() {
    room_ = HONE_GPU(DeviceRoom::Open(setup_));
    return {};
  }

  Try<void> Load(const Request& request, Reply& reply) {
    const auto bytes = ReadFile(request.library);
    auto built = bytes ? cuda::Unpack(*bytes) : tl::unexpected<Error>(bytes.error());
    if (!built) {
      reply.said = Said::kInvalid;
      Say(reply, built.error().message);
      return {};
    }
    HONE_GPU(Unload());
    room_->GuardInputs(request.guard_inputs != 0);
    plan_ = HONE_GPU(LoadedPlan::Load(room_->context(), *built));
    HONE_GPU(plan_->FillBuffers(kBufferPoison));
    const auto at = HONE_GPU(room_->Map(0));
    parameters_ = TensorsAt(setup_.parameters, setup_.parameter_places, at.inputs);
    return {};
  }

  Try<void> Unload() {
    bound_.clear();
    parameters_.clear();
    graph_ = chosen_ = false;
    if (!plan_) return {};
    HONE_GPU(plan_->FillBuffers(kBufferPoison));  // the next plan shall find nothing that this one has computed
    HONE_GPU(room_->context().Wait());
    plan_.reset();
    return {};
  }

  static std::vector<LoadedPlan::Binding> TensorsAt(const std::vector<Tensor>& tensors,
                                                    const std::vector<Place>& places, Address base) {
    std::vector<LoadedPlan::Binding> bindings;
    for (std::size_t i = 0; i < places.size(); ++i) {
      bindings.push_back({tensors[i].name, DeviceRoom::At(base, places[i]), places[i].bytes, tensors[i].dtype});
    }
    return bindings;
  }

  // The handle of a pair of slots, in one view.
  Try<int> Bind(std::uint32_t from, std::uint32_t into, std::uint32_t view) {
    const auto found = bound_.find({from, into, view});
    if (found != bound_.end()) return found->second;
    const auto at = HONE_GPU(room_->Map(view));
    auto tensors = TensorsAt(setup_.inputs, setup_.input_slots[from], at.inputs);
    const auto outputs = TensorsAt(setup_.outputs, setup_.output_slots[into], at.outputs);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (const auto update = UpdateOf(setup_, i)) tensors[i].address = outputs[*update].address;
    }
    tensors.insert(tensors.end(), parameters_.begin(), parameters_.end());
    tensors.insert(tensors.end(), outputs.begin(), outputs.end());
    return bound_[{from, into, view}] = HONE_GPU(plan_->Bind(tensors));
  }

  Try<void> Prepare(Reply& reply) {
    HONE_GPU(room_->clock().Start());
    HONE_GPU(plan_->Prepare(parameters_));
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(room_->clock().Stop()));
    return {};
  }

  Try<void> Run(const Request& request, Reply& reply) {
    const int bound = HONE_GPU(Bind(request.slots[0], request.slots[1], request.view));
    // Before every kernel: what one leaves behind is nothing that the next may count on.
    const bool fill = request.count == 1 && request.keep_shared == 0;
    if (fill) plan_->BeforeKernels([this] { return room_->FillShared(); });
    const auto done = RunOften(bound, request.count, reply);
    plan_->BeforeKernels(nullptr);
    return done;
  }

  Try<void> RunOften(int bound, std::uint32_t count, Reply& reply) {
    HONE_GPU(room_->clock().Start());
    for (std::uint32_t i = 0; i < count; ++i) HONE_GPU(plan_->Run(bound));
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(room_->clock().Stop()));
    return room_->context().Wait();
  }

  Try<void> Once(int bound) { return graph_ ? plan_->RunGraph(bound) : plan_->Run(bound); }

  // Which way of asking is faster for this plan, found once.
  Try<void> ChooseWay(int bound) {
    double best[2] = {1e300, 1e300}, spent_us = 0;
    int calls = kGraphTrials;
    for (int trial = 0; trial < kGraphTrials && spent_us < kGraphTrialsUs; ++trial) {
      for (const bool graph : {false, true}) {
        graph_ = graph;
        HONE_GPU(room_->clock().Start());
        HONE_GPU(Once(bound));
        const double first_us = HONE_GPU(room_->clock().Stop());
        if (trial == 0) calls = std::clamp(static_cast<int>(kGraphTrialUs / std::max(first_us, 1.0)), 1, kGraphTrials);
        HONE_GPU(room_->clock().Start());
        for (int i = 0; i < calls; ++i) HONE_GPU(Once(bound));
        const double us = HONE_GPU(room_->clock().Stop());
        spent_us += first_us + us;
        best[graph] = std::min(best[graph], us / calls);
      }
    }
    graph_ = best[true] < best[false];
    chosen_ = true;
    return {};
  }

  Try<void> Time(const Request& request, Reply& reply) {
    std::vector<int> bounds;
    for (std::uint32_t i = 0; i < request.count; ++i)
      bounds.push_back(HONE_GPU(Bind(request.slots[i], request.slots[i], request.view)));
    if (!chosen_) HONE_GPU(ChooseWay(bounds[0]));
    // Both keep the device at work while the launches that are timed are still being asked for: on an idle device the
    // clock would start before the first of them comes. No kernel of the plan's runs here before the clock does: it
    // could find the inputs of the calls that are timed.
    if (request.brief) HONE_GPU(room_->Hold());
    if (request.cold) HONE_GPU(room_->SweepCache());
    HONE_GPU(room_->clock().Start());
    for (std::uint32_t repeat = 0; repeat < request.repeats; ++repeat) {
      for (const int bound : bounds) HONE_GPU(Once(bound));
    }
    if (request.brief) room_->LetGo();
    reply.as_graph = graph_;
    reply.nanoseconds = static_cast<std::uint64_t>(1000 * HONE_GPU(room_->clock().Stop()));
    return {};
  }

  WorkerSetup setup_;
  std::unique_ptr<DeviceRoom> room_;
  std::unique_ptr<LoadedPlan> plan_;
  std::vector<LoadedPlan::Binding> parameters_;
  std::map<std::array<std::uint32_t, 3>, int> bound_;
  Try<void> ready_;
  bool graph_ = false, chosen_ = false;
};

}  // namespace

int PlanWorkerMain(WorkerSetup setup) {
  PlanWorker worker(std::move(setup));
  return ServeRequests([&] { worker.GetReady(); }, [&](const Request& request) { return worker.Answer(request); });
}

}  // namespace hone
