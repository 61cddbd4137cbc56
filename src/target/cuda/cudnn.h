// cuDNN's convolutions, opened at run time, as steps of plans. Like the driver, for one context and one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "candidate/plan.h"
#include "target/cuda/driver.h"

namespace hone::cuda {

// A tensor in device memory, [batch, channels, spatial..]; strides in elements.
struct DeviceTensor {
  Address at = 0;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape, strides;
};

// As a ConvolutionStep says, with addresses.
struct ConvolutionCall {
  DeviceTensor x, w, y;  // w is dense, or dense with its channels last
  std::vector<std::int64_t> stride, padding, dilation;
  std::int64_t groups = 1;
  bool transposed = false;
  LibraryCompute compute = LibraryCompute::kF32;
  Address bias = 0;  // 0: none
  Activation activation = Activation::kNone;
  int algorithm = 0;
  Address workspace = 0;
  std::int64_t workspace_bytes = 0;
};

class Cudnn {
 public:
  // `path`: of FindLibrary. `beside`: paths of libraries that cuDNN itself opens by their names, opened before it;
  // those that are not there are left out. A context has to be current in this thread, also for what follows.
  static Try<std::unique_ptr<Cudnn>> Open(const std::string& path, const std::vector<std::string>& beside);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // A call that is described and decided, to be asked for as often as one likes. The library outlives it.
  class Prepared;
  // What the library cannot do is a Failure with its own words for it.
  Try<std::shared_ptr<const Prepared>> Prepare(const ConvolutionCall& call);
  // On the context's stream; returns before it is done. May be captured into a graph after it has run once.
  Try<void> Run(Context& context, const Prepared& prepared);

 private:
  struct Api;
  explicit Cudnn(std::unique_ptr<Api> api);
  std::unique_ptr<Api> api_;
};

}  // namespace hone::cuda
