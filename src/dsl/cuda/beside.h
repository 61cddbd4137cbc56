// Launches that do not need each other, made one: a decoder's keys and values, each of which leaves the device half
// idle, take hardly longer than one of them.
//
//   products of k   128 blocks  --.
//   products of v   128 blocks  --'->  256 blocks: those below 128 are k's
//   sums of k                   --.
//   sums of v                   --'->  ...
//
// A launch joins an earlier one, past others that it does not need either. Both have to be of the same number of
// threads and the same launch bounds, and one of the two must not fill the device anyway. The static shared memory of
// different kernels adds up, to what every kernel may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "candidate/plan.h"
#include "target/device_model.h"

namespace hone::dsl {

// A kernel before it is text.
struct KernelText {
  std::string comment;  // the statement, in lines of comment
  std::string name;
  std::string bounds;                                           // of __launch_bounds__
  std::vector<std::pair<std::string, std::string>> parameters;  // type and name
  std::string body;
};
std::string TextOf(const KernelText& kernel);

// What a step of a plan touches, by the names of tensors and buffers.
struct StepUse {
  std::set<std::string> reads, writes;
  bool known = false;                    // a library's call, say, is not: nothing passes it
  bool aside = false;                    // it is a launch that may join others
  std::int64_t static_shared_bytes = 0;  // of its kernel, where it is aside
};

// Makes one of the launches of `steps` that may be one. `uses` has a row a step, before and after. Kernels are added;
// whoever is not launched any more stays. The functions that added kernels call, to stand before all kernels.
std::string JoinLaunches(std::vector<PlanStep>& steps, std::vector<StepUse>& uses, std::vector<KernelText>& kernels,
                         const DeviceModel& device);

}  // namespace hone::dsl
