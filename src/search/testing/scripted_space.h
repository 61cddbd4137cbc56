// A made-up space of kernels, for tests of the search and `hone bench`: five knobs, a valley with a few cliffs, known
// to the last nanosecond and the same on every machine (integers only). A candidate's text is its knobs: "scripted t3
// u2 w1 s0 l1".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verdict/verdict.h"

namespace hone::testing {

struct ScriptedPoint {
  static constexpr std::array<int, 5> kExtents = {8, 5, 4, 4, 2};  // tile, unroll, width, stages, layout
  std::array<int, 5> knobs{};
  bool operator==(const ScriptedPoint&) const = default;

  std::string Text() const;
  static std::optional<ScriptedPoint> Parse(std::string_view text);  // nothing if it is no text of ours
  bool Valid() const;                                                // every knob within its extent

  Outcome Verdict() const;           // what the judge would say: some corners do not compile, crash or are wrong
  std::int64_t Nanoseconds() const;  // true time without noise; > 0
  std::int64_t PredictedNanoseconds() const;  // by a model that knows the valley and not the cliffs
};

// The fastest accepted point's time, by looking at all 1,280.
std::int64_t ScriptedOptimumNanoseconds();
inline constexpr std::int64_t kScriptedBaselineNanoseconds = 2'000'000;

}  // namespace hone::testing
