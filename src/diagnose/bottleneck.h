// What limits a kernel or a candidate: which rules are worth asking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "profile/profile.h"

namespace hone {

enum class Bottleneck : std::uint8_t { kCompute, kMemory, kLatency, kLaunch, kBalanced };
std::string_view Name(Bottleneck bottleneck);  // "compute"
std::optional<Bottleneck> ParseBottleneck(std::string_view name);

struct Class {
  Bottleneck bottleneck = Bottleneck::kBalanced;
  double confidence = 0;  // 0 to 1
  std::string why;        // one line, with its numbers
};

// Two opinions, each where there are the facts for it. Counters decide: they are of what happened, while analysis says
// what had to happen.
struct Classification {
  std::optional<Class> by_analysis, by_counters;
  const Class* decided() const { return by_counters ? &*by_counters : by_analysis ? &*by_analysis : nullptr; }
  bool disagree() const { return by_analysis && by_counters && by_analysis->bottleneck != by_counters->bottleneck; }
};

Classification Classify(const Profile& profile);

// Below this confidence a class says too little to leave rules out: all are asked.
inline constexpr double kTrusted = 0.5;

}  // namespace hone
