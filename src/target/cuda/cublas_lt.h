// cuBLASLt, opened at run time: matrix products by NVIDIA's library, as steps of plans and for measuring a device. Like
// the driver, for one context and one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/dtype.h"
#include "target/cuda/driver.h"
#include "target/cuda/shared_library.h"

namespace hone::cuda {

using MatmulCompute = LibraryCompute;

// A matrix in device memory, or a batch of them. Strides in elements; one of the two is 1.
struct DeviceMatrix {
  Address at = 0;
  DType dtype = DType::kF32;
  std::array<std::int64_t, 2> strides = {0, 1};  // of rows, of columns
  std::int64_t batch_stride = 0;
};

// d = activation(alpha a b + beta c + bias), a being [m, k] and b [k, n]. c and d lie in rows; bias has n elements.
struct MatmulCall {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  DeviceMatrix a, b, c, d;  // c is looked at if beta is not 0
  MatmulCompute compute = MatmulCompute::kF32;
  double alpha = 1, beta = 0;
  Address bias = 0;  // 0: none; in d's type
  Activation activation = Activation::kNone;
  int algorithm = 0;  // which of the library's proposals, its best first
  Address workspace = 0;
  std::int64_t workspace_bytes = 0;
};

class CublasLt {
 public:
  // `path`: of FindLibrary. A context has to be current in this thread, also for what follows.
  static Try<std::unique_ptr<CublasLt>> Open(const std::string& path);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // A call that is described and decided, to be asked for as often as one likes. The library outlives it.
  class Prepared;
  // What the library cannot do is a Failure with its own name for it: "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED".
  Try<std::shared_ptr<const Prepared>> Prepare(const MatmulCall& call);
  // On the context's stream; returns before it is done. May be captured into a graph.
  Try<void> Run(Context& context, const Prepared& prepared);

 private:
  struct Api;
  explicit CublasLt(std::unique_ptr<Api> api);
  std::unique_ptr<Api> api_;
};

}  // namespace hone::cuda
