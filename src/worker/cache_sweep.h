// A second-level cache that holds nothing of a candidate's and nothing that has yet to be written: what a kernel then
// reads comes from memory, and what it writes is all that goes there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "target/cuda/driver.h"

namespace hone {

// Of one context, which outlives it.
class CacheSweep {
 public:
  // `kernels` is the cubin of CompileWorkerKernels (protocol/worker_kernels.h).
  static Result<std::unique_ptr<CacheSweep>> Open(cuda::Context& context, const std::string& kernels);
  ~CacheSweep();
  CacheSweep(const CacheSweep&) = delete;
  CacheSweep& operator=(const CacheSweep&) = delete;

  cuda::Try<void> Ask();  // queued; one kernel

 private:
  explicit CacheSweep(cuda::Context& context) : context_(context) {}
  cuda::Context& context_;
  std::optional<cuda::Module> kernels_;
  void* sweep_ = nullptr;
  cuda::Address memory_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace hone
