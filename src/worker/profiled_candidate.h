// A candidate in the process that runs it for its profile: a plan, whose steps are known, or a module of CUDA C++,
// which launches as it likes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/profiled.h"
#include "protocol/protocol.h"
#include "target/cuda/driver.h"
#include "worker/placed_tensors.h"

namespace hone {

// Of one context, on whose stream it runs; the context and `placed` outlive it. What is asked for is queued.
class ProfiledCandidate {
 public:
  // `built` is the path of a packed plan or of a module's shared object.
  static Result<std::unique_ptr<ProfiledCandidate>> Load(cuda::Context& context, Form form, const std::string& built,
                                                         const std::vector<Placed>& placed);
  virtual ~ProfiledCandidate() = default;

  virtual cuda::Try<void> Run() = 0;
  // The same as one CUDA graph, which is made at the first call; where nothing can be captured, never asked for.
  virtual bool has_graph() const = 0;
  virtual cuda::Try<void> RunGraph() = 0;

  // What a run consists of, as far as that is known without running it: of a module nothing.
  virtual std::size_t steps() const = 0;
  virtual bool launches(std::size_t step) const = 0;  // kernels; else it only sets memory
  virtual cuda::Try<void> RunStep(std::size_t step) = 0;
  virtual std::vector<CountedKernel> Kernels() const = 0;  // those that it names, in order
  virtual int MostKernels() const = 0;                     // of a run, at most
};

}  // namespace hone
