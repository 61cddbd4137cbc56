// The steps of a plan that are calls of NVIDIA's libraries: held against the memory that they name, and made ready to
// run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "candidate/plan.h"
#include "target/cuda/cublas_lt.h"
#include "target/cuda/cudnn.h"
#include "target/cuda/driver.h"
#include "target/cuda/loaded_plan.h"

namespace hone::cuda {

struct PlanMemory {
  std::int64_t elements = 0;
  DType dtype = DType::kF32;
};
// The memory of that name, for the step's part "/a"; nothing where whoever looks has refused it already.
using FindMemory =
    std::function<std::optional<PlanMemory>(std::string_view part, const std::string& name, bool written)>;

// What is wrong with a part of a step, as a line with the mend; nothing if the library may be called with it.
struct StepIssue {
  std::string part;  // "/a", "" = the whole step
  std::string message;
};
std::optional<StepIssue> CheckStep(const MatmulStep& step, const FindMemory& find);
std::optional<StepIssue> CheckStep(const ConvolutionStep& step, const FindMemory& find);

// Where the libraries that a plan's steps call are. kNotFound says which one is missing.
Result<LibraryPaths> FindLibrariesOf(const Plan& plan);

// The libraries of one loaded plan, each opened with the first step that calls it. Calls that it has made ready must go
// before it.
class Libraries {
 public:
  Libraries(Context& context, LibraryPaths paths) : context_(context), paths_(std::move(paths)) {}

  using Call = std::function<Try<void>()>;  // asks for the step on the context's stream
  using FindAddress = std::function<const LoadedPlan::Binding&(const std::string& name)>;
  Try<Call> Prepare(const MatmulStep& step, const FindAddress& find);
  Try<Call> Prepare(const ConvolutionStep& step, const FindAddress& find);

 private:
  Context& context_;
  LibraryPaths paths_;
  std::unique_ptr<CublasLt> cublas_;
  std::unique_ptr<Cudnn> cudnn_;
};

}  // namespace hone::cuda
