// It is still right once it was timed, on inputs that it has not seen, at an old address and at a new one.
#include "judge/gate.h"

namespace hone::gate_70_after_timing {
namespace {

Result<Refusal> Look(Examination& examination, TimedCandidate& timed) {
  Trial& trial = examination.trial;
  const auto at_hand = HONE_TRY(trial.Draw(kAfterDraw));
  timed.candidate.worker().Continue();
  for (const std::uint32_t view : {0u, 1u}) {
    HONE_TRY(trial.Load(*at_hand, view));
    HONE_TRY(trial.Poison(view, kPoison));
    Request run;
    run.ask = Ask::kRun;
    run.slots[0] = run.slots[1] = view;
    run.view = view;
    const auto answer = HONE_TRY(examination.Call(run, *at_hand));
    if (!answer) return answer.error();
    auto seen = HONE_TRY(examination.Look(*at_hand, view, kPoison));
    if (seen.right()) continue;
    seen.refusal->reason = "no longer right after the timing: " + seen.refusal->reason;
    return seen.refusal;
  }
  return Refusal();
}

}  // namespace

HONE_ROW(Gate){.name = "70_after_timing", .timed = Look};

}  // namespace hone::gate_70_after_timing
