// While it is timed it computes on no more processors than it was told to have threads: else it is as fast as a machine
// that its baselines do not have. (On a device a module can make no threads, and a plan has none.)
#include <fmt/format.h>

#include "judge/gate.h"

namespace hone::gate_52_threads {
namespace {

// Nobody honest is above 1 a thread. But what a thread that spins has used is told by ticks of 4 ms, so the sum is
// partly chance: over kLeastUs it is off by an eighth (standard deviation), a quarter of what this leaves room for.
constexpr double kMore = 1.5;
constexpr double kLeastUs = 250e3;

Result<Refusal> Look(Examination& examination, TimedCandidate& timed) {
  const auto& usage = timed.candidate.usage();
  const int threads = examination.settings.threads;
  if (OnDevice(examination.settings.form) || usage.wall_us < kLeastUs) return Refusal();
  const double processors = usage.processor_us / usage.wall_us;
  if (processors <= kMore * threads) return Refusal();
  timed.doubtful = true;
  return Refuse(Outcome::kSuspicious, fmt::format("computes on {:.1f} processors while it is timed, where {} thread{} "
                                                  "given to it",
                                                  processors, threads, threads == 1 ? " is" : "s are"));
}

}  // namespace

HONE_ROW(Gate){.name = "52_threads", .timed = Look};

}  // namespace hone::gate_52_threads
