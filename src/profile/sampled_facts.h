// Where the warps of a kernel wait, by samples of its program counters: joined to its instructions and source lines.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "target/cuda/cubin.h"

namespace hone {

// Samples of one instruction, as CUPTI counts them: by the name of why a warp did not go on, with those that issued.
struct SampledOffset {
  std::int64_t offset = 0;  // in bytes from the kernel's beginning
  std::map<std::string, std::int64_t> stalls;
};

// The same for an instruction of the kernel's code.
struct SampledCode {
  std::int64_t samples = 0;    // in which a warp stood here
  std::int64_t waiting = 0;    // of them, those in which it waited for something; not for its turn
  std::string reason;          // the most common, "long_scoreboard"; empty: it waited for nothing
  std::int64_t of_reason = 0;  // that often
};

// One element an instruction of the code, zeros where none was sampled. Samples beyond the code are left out.
std::vector<SampledCode> JoinSamples(const cuda::KernelFacts& kernel, std::span<const SampledOffset> samples);

// What warps wait for that wait for this reason: "memory". An unknown one as it is.
std::string_view WaitingFor(std::string_view reason);

// The instruction whose result the one at `index` waits for by a scoreboard, as far as the text says: the last before
// it that announces one of those. -1: none does.
std::int64_t ProducerOf(const cuda::KernelFacts& kernel, std::size_t index);

// Facts of it. `line_text` is the text of a place's source line, empty where it is not known.
void AddSampleFacts(Profile& launch, const cuda::KernelFacts& kernel, std::span<const SampledCode> sampled,
                    const std::function<std::string(const cuda::SourcePlace&)>& line_text);

}  // namespace hone
