// What can be set on all ways to compute attention on the CPU (cpu/attend.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/family.h"
#include "dsl/knobs.h"

namespace hone::dsl {

// Elements of a thread's blocks, which lie on its stack, where it has so many queries side by side and keys at a time;
// and how many there may be.
std::int64_t AttentionBlock(const Kernel& kernel, std::int64_t lanes, std::int64_t keys);
inline constexpr std::int64_t kMostAttentionBlock = 1 << 18;

std::vector<Setting> AttentionThreads(const Kernel& kernel);
std::vector<Setting> AttentionKeysValues(const Kernel& kernel);
std::optional<std::string> CheckAttentionKeys(const Kernel& kernel, const Setting& value);

inline constexpr Knob kAttentionThreadsKnob{"threads", kThreadsKnob.doc, AttentionThreads, CheckThreads};
inline constexpr Knob kAttentionKeysKnob{"keys", "keys of a block, whose scores stay in cache", AttentionKeysValues,
                                         CheckAttentionKeys};

}  // namespace hone::dsl
