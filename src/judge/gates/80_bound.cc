// It is not faster than the machine can be: from cold caches nothing is below the bound (target/bound.h).
#include <fmt/format.h>

#include "judge/gate.h"

namespace hone::gate_80_bound {
namespace {

constexpr double kSlack = 0.9;  // the bound is measured, too

Result<Refusal> Look(Examination& examination, TimedCandidate& timed) {
  const double cold_us = timed.cold.median_us;
  if (timed.bound_us <= 0 || cold_us >= kSlack * timed.bound_us) return Refusal();
  const auto bytes = examination.trial.problem_bytes();
  return Refuse(
      Outcome::kSuspicious,
      fmt::format("faster than this machine can: {:.2f} us from cold caches, the bound is {:.2f} us (the tensors "
                  "are {} bytes, which would be {:.1f} GB/s)",
                  cold_us, timed.bound_us, bytes, static_cast<double>(bytes) / cold_us / 1e3));
}

}  // namespace

HONE_ROW(Gate){.name = "80_bound", .timed = Look};

}  // namespace hone::gate_80_bound
