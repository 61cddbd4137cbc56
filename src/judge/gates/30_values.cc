// What it computes is right, twice on the same inputs: at an address where the draw before was, and at one where none
// was before, on different poison. It is there when the call returns, and nowhere but in the outputs.
#include <fmt/format.h>

#include <chrono>

#include "judge/gate.h"
#include "judge/why_wrong.h"

namespace hone::gate_30_values {
namespace {

constexpr auto kLateWatch = std::chrono::milliseconds(1);

// Looks again, later, at outputs that were refused: when they have changed, the work went on after the return.
Result<Refusal> WrittenLate(Examination& examination, const DrawnInputs& inputs, std::size_t slot, std::uint16_t poison,
                            const Verdict& seen) {
  examination.AwaitQuiet(kLateWatch);
  const auto later = HONE_TRY(examination.Look(inputs, slot, poison));
  if (later.refusal && later.refusal->evidence->wrong_elements == seen.evidence->wrong_elements) return Refusal();
  return Refuse(Outcome::kSuspicious,
                fmt::format("hone_run returned before output '{}' was written: it still changed afterwards",
                            seen.evidence->output),
                inputs.name);
}

Result<Refusal> Look(Examination& examination, const PreparedDraw& draw) {
  const DrawnInputs& inputs = draw.inputs;
  Request run, again;
  run.ask = again.ask = Ask::kRun;
  // For the first draws an address where none were before.
  again.slots[1] = 1;
  again.view = static_cast<std::uint32_t>(1 + draw.which % (kCheckViews - 1));

  // The same address for every draw: what remembers by address gives the first draw's outputs.
  const auto first_call = HONE_TRY(examination.Call(run, inputs));
  if (!first_call) return first_call.error();
  examination.found.call_us = static_cast<double>(first_call->said.nanoseconds) / 1000;
  examination.found.after_us.push_back(static_cast<double>(first_call->said.after_ns) / 1000);
  const auto first = HONE_TRY(examination.Look(inputs, 0, kPoison));
  if (!first.right()) {
    HONE_PASS(WrittenLate(examination, inputs, 0, kPoison, *first.refusal));
    if (first.refusal->outcome == Outcome::kOutOfBounds) return first.refusal;
  }

  const auto second_call = HONE_TRY(examination.Call(again, inputs));
  if (!second_call) return second_call.error();
  examination.found.after_us.push_back(static_cast<double>(second_call->said.after_ns) / 1000);
  Trial& trial = examination.trial;
  bool same = first.right();
  for (std::size_t i = 0; i < trial.outputs() && same; ++i)
    same = HONE_TRY(trial.SameOutput(0, 1, i)) && !HONE_TRY(trial.FindTrespass(1, i));
  const auto second = same ? first : HONE_TRY(examination.Look(inputs, 1, kOtherPoison));
  if (!second.right()) HONE_PASS(WrittenLate(examination, inputs, 1, kOtherPoison, *second.refusal));

  if (first.right() && second.right()) {
    examination.found.reproducible &= same;
    examination.found.Add(first);
    examination.found.Add(second);
    return Refusal();
  }
  HONE_PASS(examination.Release(inputs));
  return SayWhyWrong(examination, draw, first, second);
}

}  // namespace

HONE_ROW(Gate){.name = "30_values", .drawn = Look};

}  // namespace hone::gate_30_values
