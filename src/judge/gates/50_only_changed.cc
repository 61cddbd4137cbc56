// It takes as long on inputs that are all new as on such that stayed but for a run: else it computes only what changed.
#include <fmt/format.h>

#include "judge/gate.h"
#include "judge/samples.h"

namespace hone::gate_50_only_changed {
namespace {

// Who is slower on new inputs by this, with 95 % confidence, does something else there: data alone make no such
// difference but for branches that a processor learns by heart, which is why it is not less.
constexpr double kSlower = 1.5, kSlowerUs = 0.2;

Result<Refusal> Look(Examination&, TimedCandidate& timed) {
  const auto& on_new = timed.candidate.new_us();
  const auto& on_old = timed.candidate.stay_us();
  const auto new_us = MedianInterval(on_new), old_us = MedianInterval(on_old);
  if (!new_us || !old_us || new_us->low <= kSlower * old_us->high + kSlowerUs) return Refusal();
  return Refuse(Outcome::kSuspicious,
                fmt::format("takes {:.2f} us on inputs that are all new and {:.2f} us where most of them are as they "
                            "were: it computes only what changed",
                            Median(on_new), Median(on_old)));
}

}  // namespace

HONE_ROW(Gate){.name = "50_only_changed", .timed = Look};

}  // namespace hone::gate_50_only_changed
