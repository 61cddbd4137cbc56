// A plan as the device runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "candidate/plan.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/driver.h"

namespace hone::cuda {

class Libraries;  // target/cuda/library_steps.h

// A built plan on the device: modules loaded, buffers allocated. Where the tensors lie is said anew for every binding.
class LoadedPlan {
 public:
  static Try<std::unique_ptr<LoadedPlan>> Load(Context& context, const BuiltPlan& built);
  ~LoadedPlan();
  LoadedPlan(const LoadedPlan&) = delete;
  LoadedPlan& operator=(const LoadedPlan&) = delete;

  Try<void> FillBuffers(int byte);  // all of them, in the order of the launches

  // Where a tensor lies and how its elements are; parameters alone for Prepare.
  struct Binding {
    std::string name;
    Address address = 0;
    std::int64_t bytes = 0;
    DType dtype = DType::kF32;
  };
  Try<void> Prepare(std::span<const Binding> tensors);
  // The launches of one run, asked for in order on the context's stream; returns before they are done. Run is given the
  // handle of a binding that was made once.
  Try<int> Bind(std::span<const Binding> tensors);
  Try<void> Run(int binding);
  Try<void> RunStep(int binding, std::size_t step);  // that one alone, of Plan::steps
  // Called before every kernel that Run asks for; null: nothing is.
  void BeforeKernels(std::function<Try<void>()> hook) { before_ = std::move(hook); }
  // The same as one CUDA graph, captured on first use.
  Try<void> RunGraph(int binding);

 private:
  struct Step;
  struct Bound;
  explicit LoadedPlan(Context& context);
  Try<std::vector<Step>> Steps(const std::vector<PlanStep>& steps, std::span<const Binding> tensors);
  Try<void> Launch(const Step& step);
  Try<void> Launch(const std::vector<Step>& steps);
  Context& context_;
  Plan plan_;
  std::vector<bool> early_;                                  // BuiltPlan::early
  std::vector<void*> modules_;                               // one a source
  std::vector<std::string> prepare_symbols_, step_symbols_;  // of the launches, in order
  std::vector<Binding> buffers_;
  std::unique_ptr<Libraries> libraries_;  // outlives the calls in bound_
  std::vector<std::unique_ptr<Bound>> bound_;
  std::function<Try<void>()> before_;
};

}  // namespace hone::cuda
