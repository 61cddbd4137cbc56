// Its clock tells the time. A candidate's code shares the process that reads it, so it is held against the judge's over
// calls that last some milliseconds, and those against single ones. (A plan's process is ours.)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "judge/gate.h"
#include "judge/samples.h"

namespace hone::gate_60_clock {
namespace {

constexpr double kCheckUs = 3000;
constexpr double kTolerance = 0.1, kBusyTolerance = 0.3;
constexpr int kPings = 5;
constexpr int kShots = 20;                // the best counts: on a busy machine most may be disturbed
constexpr double kOneShotFromUs = 100e3;  // of a call: what is so long is not disturbed by that much
constexpr double kBriefUpToUs = 20e3;     // of a call: above, threads that wake up do not show

struct Clocks {
  double inside_us = 0, outside_us = 0;  // of the shot in which they are nearest
  double off_us = HUGE_VAL;
  // The question's way there and back is not the worker's doing; being put aside by the system is not either, so the
  // best of some. A busy system has whoever has just worked wait: its way is looked at after each shot, too, and may
  // explain a part of what is missing.
  std::vector<double> rested_us, tired_us;
  bool TooFar() const {
    const double busy = std::min(3 * Median(tired_us), kBusyTolerance * outside_us);
    return off_us > kTolerance * outside_us + std::max(3 * Median(rested_us), busy) + 100;
  }
};

Result<Refusal> GoThereAndBack(WorkerParticipant& candidate, std::vector<double>& ways) {
  const auto way_us = HONE_TRY(candidate.Ping());
  if (!way_us) return way_us.error();
  ways.push_back(*way_us + HONE_TRY(candidate.Touch()));
  return Refusal();
}

Result<Refusal> Look(Examination& examination, TimedCandidate& timed) {
  if (!IsForeign(examination.settings.form)) return Refusal();
  WorkerParticipant& candidate = timed.candidate;
  candidate.worker().Continue();
  const double call_us = candidate.call_us();
  const auto calls = static_cast<std::uint32_t>(std::clamp(kCheckUs / std::max(call_us, 0.05), 1.0, 1e5));
  const int shots = call_us > kOneShotFromUs ? 1 : kShots;
  Clocks clocks;
  for (int i = 0; i < kPings; ++i) HONE_PASS(GoThereAndBack(candidate, clocks.rested_us));
  for (int i = 0; i < shots && clocks.TooFar(); ++i) {
    const auto shot = HONE_TRY(candidate.Repeat(calls, false));
    if (!shot) return shot.error();
    const double claimed_us = shot->call_us * calls, outer_us = shot->outer_us + HONE_TRY(candidate.Touch());
    HONE_PASS(GoThereAndBack(candidate, clocks.tired_us));
    if (const double off_us = std::abs(outer_us - claimed_us); off_us < clocks.off_us) {
      clocks.off_us = off_us;
      clocks.inside_us = claimed_us;
      clocks.outside_us = outer_us;
    }
  }
  const bool lies = clocks.TooFar();
  // Repeated calls on the same data are no slower than single ones; who claims so lies only where it pays. Short enough
  // not to be interrupted each time, and without the time that sleeping threads take to wake up.
  const double single_us = Median(candidate.new_us());
  double repeated_us = HUGE_VAL;
  for (int i = 0; i < shots && repeated_us > 2 * single_us + 0.2; ++i) {
    const auto shot = HONE_TRY(candidate.Repeat(std::max(1u, calls / 10), call_us < kBriefUpToUs));
    if (!shot) return shot.error();
    repeated_us = std::min(repeated_us, shot->call_us);
  }
  candidate.worker().Stop();
  if (!lies && repeated_us <= 2 * single_us + 0.2) return Refusal();
  timed.doubtful = true;  // such a burst makes long batches slow and short ones not, as a lying clock does
  return Refuse(Outcome::kSuspicious,
                lies ? fmt::format("the clock inside says {:.0f} us, outside {:.0f} us passed", clocks.inside_us,
                                   clocks.outside_us)
                     : fmt::format("the clock inside says {:.2f} us for a single call, but {:.2f} us a call when many "
                                   "are timed together",
                                   single_us, repeated_us));
}

}  // namespace

HONE_ROW(Gate){.name = "60_clock", .timed = Look};

}  // namespace hone::gate_60_clock
