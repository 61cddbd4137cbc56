#include "search/testing/scripted_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hone::testing {
namespace {

constexpr std::string_view kLetters = "tuwsl";

// The cost of a knob's value in thousandths, 1000 at its best value. The best tile depends on the layout.
std::int64_t Valley(const ScriptedPoint& point) {
  const auto [tile, unroll, width, stages, layout] = point.knobs;
  const auto squared = [](int off) { return static_cast<std::int64_t>(off) * off; };
  std::int64_t cost = 1000;
  cost = cost * (1000 + 60 * squared(tile - (layout == 0 ? 4 : 6))) / 1000;
  cost = cost * (1000 + 90 * squared(unroll - 2)) / 1000;
  cost = cost * (1000 + 250 * (3 - width)) / 1000;
  cost = cost * (1000 + 120 * squared(stages - 2)) / 1000;
  return layout == 0 ? cost : cost * 7 / 8;
}

}  // namespace

std::string ScriptedPoint::Text() const {
  std::string text = "scripted";
  for (std::size_t i = 0; i < knobs.size(); ++i) text += fmt::format(" {}{}", kLetters[i], knobs[i]);
  return text;
}

std::optional<ScriptedPoint> ScriptedPoint::Parse(std::string_view text) {
  ScriptedPoint point;
  for (std::size_t i = 0; i < point.knobs.size(); ++i) {
    const std::size_t at = text.find(fmt::format(" {}", kLetters[i]));
    if (at == std::string_view::npos) return std::nullopt;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + at + 2, end, point.knobs[i]).ec != std::errc()) return std::nullopt;
  }
  if (point.Text() != text || !point.Valid()) return std::nullopt;
  return point;
}

bool ScriptedPoint::Valid() const {
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (knobs[i] < 0 || knobs[i] >= kExtents[i]) return false;
  }
  return true;
}

Outcome ScriptedPoint::Verdict() const {
  const auto [tile, unroll, width, stages, layout] = knobs;
  if (tile == 7 && stages == 3) return Outcome::kOutOfMemory;
  if (tile == 0 && width == 3) return Outcome::kCompileError;
  if (unroll == 4 && layout == 1) return Outcome::kCrash;
  if (width == 3 && tile % 2 == 1 && layout == 0) return Outcome::kWrongResult;
  return Outcome::kAccepted;
}

std::int64_t ScriptedPoint::Nanoseconds() const {
  const auto [tile, unroll, width, stages, layout] = knobs;
  std::int64_t cost = Valley(*this);
  if (tile + unroll > 8) cost = cost * 5 / 2;          // registers spill
  if (stages == 0 && width == 3) cost = cost * 8 / 5;  // loads wait
  if (layout == 1 && tile < 3) cost = cost * 9 / 5;    // too little work each
  return cost * 200;
}

std::int64_t ScriptedPoint::PredictedNanoseconds() const { return Valley(*this) * 180; }

std::int64_t ScriptedOptimumNanoseconds() {
  std::int64_t best = kScriptedBaselineNanoseconds * 1000;
  ScriptedPoint point;
  const auto& extents = ScriptedPoint::kExtents;
  auto& [tile, unroll, width, stages, layout] = point.knobs;
  for (tile = 0; tile < extents[0]; ++tile) {
    for (unroll = 0; unroll < extents[1]; ++unroll) {
      for (width = 0; width < extents[2]; ++width) {
        for (stages = 0; stages < extents[3]; ++stages) {
          for (layout = 0; layout < extents[4]; ++layout) {
            if (point.Verdict() == Outcome::kAccepted) best = std::min(best, point.Nanoseconds());
          }
        }
      }
    }
  }
  return best;
}

}  // namespace hone::testing
