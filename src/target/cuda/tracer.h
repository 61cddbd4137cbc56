// What runs on a device, from when to when: CUPTI's activity records, in the process that asks for it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace hone::cuda {

struct TracedEvent {
  enum class Kind : std::uint8_t { kKernel, kMemset, kCopy };
  Kind kind = Kind::kKernel;
  std::string name;                        // of a kernel, as the compiler mangles it
  std::uint64_t begin_ns = 0, end_ns = 0;  // by the device
  std::array<int, 3> grid{}, block{};      // of a kernel: blocks, and threads of each; x, y, z
  int shared_bytes = 0;                    // of a block, dynamic
};

// One at a time in a process, and not while another profiler watches it. One thread.
class Tracer {
 public:
  static Result<std::unique_ptr<Tracer>> Start();  // kNotFound without CUPTI, kDevice where it refuses
  ~Tracer();                                       // records nothing from then on
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // What was recorded since the last call, in the order of their beginnings. Wait for the device before.
  Result<std::vector<TracedEvent>> Take();

 private:
  Tracer() = default;
};

}  // namespace hone::cuda
