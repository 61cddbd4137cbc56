// Where the warps of kernels are, and why they do not go on: CUPTI samples the program counters of all multiprocessors
// while the kernels run, in the process that asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "target/cuda/driver.h"

namespace hone::cuda {

struct SampledAddress {
  std::string function;                         // as the compiler mangles it
  std::uint64_t offset = 0;                     // of the instruction, in bytes from the function's beginning
  std::map<std::string, std::uint64_t> stalls;  // samples by reason, as CUPTI names it; none that is 0
};

struct Samples {
  std::vector<SampledAddress> addresses;
  std::uint64_t total = 0;      // with those of nobody's instructions
  std::uint64_t of_others = 0;  // of kernels that CUPTI knows nothing of
  std::uint64_t dropped = 0;    // for want of room
};

// What `ask` asks for runs kernel by kernel, of modules that it loads: those that were there before have no samples. It
// is sampled every 2^period cycles (5 to 31) of each multiprocessor. Not while Counters or a Tracer are there.
// kNotFound without CUPTI, kDevice where it refuses or had not enough room.
Result<Samples> Sample(Context& context, int period, const std::function<Try<void>()>& ask);

}  // namespace hone::cuda
