#include "worker/profiled_candidate.h"

#include <fmt/format.h>

#include <functional>
#include <utility>
#include <variant>

#include "base/files.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/loaded_plan.h"
#include "target/cuda/try.h"
#include "worker/loaded_module.h"
#include "worker/placed_call.h"

namespace hone {
namespace {

template <class T>
using Try = cuda::Try<T>;

// Where a run cannot be recorded nobody knows how many kernels a library's step launches.
constexpr int kLibraryKernels = 16;
constexpr int kModuleKernels = 64;  // nor how many a module does

class ProfiledPlan : public ProfiledCandidate {
 public:
  static Result<std::unique_ptr<ProfiledCandidate>> Load(cuda::Context& context, const std::string& built,
                                                         const std::vector<Placed>& placed) {
    auto loaded = std::make_unique<ProfiledPlan>();
    const auto bytes = HONE_TRY(ReadFile(built));
    loaded->built_ = HONE_TRY(cuda::Unpack(bytes));
    loaded->plan_ = HONE_TRY(FromDevice(cuda::LoadedPlan::Load(context, loaded->built_)));
    HONE_TRY(FromDevice(loaded->plan_->Prepare(BindingsOf(placed, true))));
    loaded->bound_ = HONE_TRY(FromDevice(loaded->plan_->Bind(BindingsOf(placed, false))));
    return loaded;
  }

  Try<void> Run() override { return plan_->Run(bound_); }
  bool has_graph() const override { return true; }
  Try<void> RunGraph() override { return plan_->RunGraph(bound_); }
  std::size_t steps() const override { return built_.plan.steps.size(); }
  bool launches(std::size_t step) const override {
    return !std::holds_alternative<MemsetStep>(built_.plan.steps[step]);
  }
  Try<void> RunStep(std::size_t step) override { return plan_->RunStep(bound_, step); }

  std::vector<CountedKernel> Kernels() const override {
    std::vector<CountedKernel> kernels;
    for (std::size_t step = 0; step < steps(); ++step) {
      if (!std::holds_alternative<LaunchStep>(built_.plan.steps[step])) continue;
      kernels.push_back({static_cast<int>(step), built_.launches[kernels.size()].name, {}});
    }
    return kernels;
  }

  int MostKernels() const override {
    int most = 0;
    for (std::size_t step = 0; step < steps(); ++step) {
      const bool ours = std::holds_alternative<LaunchStep>(built_.plan.steps[step]);
      most += ours ? 1 : launches(step) ? kLibraryKernels : 0;
    }
    return most;
  }

 private:
  cuda::BuiltPlan built_;
  std::unique_ptr<cuda::LoadedPlan> plan_;
  int bound_ = 0;
};

// Its code runs in this process, which is confined.
class ProfiledModule : public ProfiledCandidate {
 public:
  ProfiledModule(cuda::Context& context, const std::vector<Placed>& placed)
      : context_(context), placed_(placed, context.stream()) {}
  ~ProfiledModule() override {
    static_cast<void>(Guarded([&](Reply&) { module_.Release(); }));
    static_cast<void>(context_.WaitAll());
  }

  static Result<std::unique_ptr<ProfiledCandidate>> Load(cuda::Context& context, const std::string& built,
                                                         const std::vector<Placed>& placed) {
    auto loaded = std::make_unique<ProfiledModule>(context, placed);
    HONE_TRY(FromDevice(loaded->Guarded([&](Reply& reply) {
      if (!loaded->module_.Load(built, reply)) return;
      loaded->module_.Prepare(loaded->placed_.call, reply);
      loaded->placed_.call.state = loaded->module_.state();
    })));
    HONE_TRY(FromDevice(context.WaitAll()));
    return loaded;
  }

  Try<void> Run() override {
    return Guarded([&](Reply& reply) { module_.Run(placed_.call, reply); });
  }
  // It may wait for the device, or use streams of its own: nobody knows whether it can be captured.
  bool has_graph() const override { return false; }
  Try<void> RunGraph() override { return {}; }
  std::size_t steps() const override { return 0; }
  bool launches(std::size_t) const override { return false; }
  Try<void> RunStep(std::size_t) override { return {}; }
  std::vector<CountedKernel> Kernels() const override { return {}; }
  int MostKernels() const override { return kModuleKernels; }

 private:
  static Try<void> Guarded(const std::function<void(Reply&)>& ask) {
    const Reply reply = LoadedModule::Guarded({}, ask);
    if (reply.said == Said::kDone) return {};
    const std::string how = reply.said == Said::kReturned ? fmt::format(" returned {}", reply.code) : "";
    return tl::unexpected<cuda::Failure>(cuda::Failure{-1, fmt::format("the module failed: {}{}", reply.text, how)});
  }
  cuda::Context& context_;
  PlacedCall placed_;
  LoadedModule module_;
};

}  // namespace

Result<std::unique_ptr<ProfiledCandidate>> ProfiledCandidate::Load(cuda::Context& context, Form form,
                                                                   const std::string& built,
                                                                   const std::vector<Placed>& placed) {
  if (form == Form::kPlan) return ProfiledPlan::Load(context, built, placed);
  if (form == Form::kCudaModule) return ProfiledModule::Load(context, built, placed);
  return Fail(ErrorKind::kUsage, fmt::format("a {} is not profiled", Name(form)));
}

}  // namespace hone
