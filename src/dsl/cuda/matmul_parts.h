// What ways to multiply matrices on CUDA have in common whose blocks of threads make a block of the result each, from a
// part of K each: where K is cut, the parts go to memory, and a second kernel adds them up in their order. Each way is
// a class of its own over this one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

// Products that are summed before they join a total: rounding errors then grow with the number of such sums, and a sum
// of FP32 is as accurate as a good one of the host. A multiple of a tile's depth.
inline constexpr std::int64_t kSumDepth = 128;

class MatmulInParts {
 public:
  MatmulInParts(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out)
      : kernel_(kernel), out_(out), text_(program, kernel, out), real_(out.Type(ScalarType::kReal)) {}

 protected:
  // Parts of K, each a multiple of `step` long: how many there are and how long.
  struct Cut {
    std::int64_t parts = 1, length = 1;
  };
  // Cuts K into about as many, before the kernel is begun.
  Cut CutK(std::int64_t parts, std::int64_t step);
  // Lines that say which batch and part of K the block is for, of `blocks` a batch: `batch`, `part`, `begin`, `end`.
  void OpenWork(std::int64_t blocks, const Cut& cut);
  // Lines that end the element `m`, `n`, or leave its part of the sum.
  void Finish(const Cut& cut, const std::vector<std::string>& batches, const std::string& sum);
  // Of `blocks` a batch and part; the kernel has so much static shared memory.
  void Launch(std::int64_t blocks, const Cut& cut, std::int64_t static_shared_bytes);

  const Kernel& kernel_;
  DeviceWriter& out_;
  MatmulText text_;
  std::string real_, partial_;
};

}  // namespace hone::dsl
