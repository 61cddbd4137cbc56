#include "judge/why_wrong.h"

#include <fmt/format.h>

namespace hone {
namespace {

// What lies in slot 0, if it would be right as the outputs of an earlier draw: at this address were that one's inputs,
// so what remembers by address gives its outputs.
Result<std::string> EarlierOutputs(Examination& examination, std::size_t which) {
  for (std::size_t earlier = 0; earlier < which; ++earlier) {
    const auto other = examination.trial.AtHand(earlier);
    if (!other || !HONE_TRY(examination.Look(*other, 0, kPoison)).right()) continue;
    return fmt::format("; these would be right as the outputs of an earlier call (inputs: {})", other->name);
  }
  return "";
}

Result<std::string> UnwrittenSharedMemory(Examination& examination, const DrawnInputs& inputs) {
  if (HONE_TRY(examination.Prepare(inputs))) return "";
  Request run;
  run.ask = Ask::kRun;
  run.keep_shared = 1;
  if (HONE_TRY(examination.Tell(run, inputs.name))) return "";
  if (!HONE_TRY(examination.Look(inputs, 0, kPoison)).right()) return "";
  return "; right when shared memory is not filled with NaNs before the call: it reads some that it has not written";
}

Result<std::string> CopiedInput(const Examination& examination) {
  Trial& trial = examination.trial;
  for (std::size_t o = 0; o < trial.outputs(); ++o) {
    for (std::size_t i = 0; i < trial.inputs(); ++i) {
      if (HONE_TRY(trial.IsCopy(0, o, i)))
        return fmt::format("; the output is a copy of input '{}'", trial.input(i).name);
    }
  }
  return "";
}

}  // namespace

Result<Verdict> SayWhyWrong(Examination& examination, const PreparedDraw& draw, const SeenOutputs& first,
                            const SeenOutputs& second) {
  Verdict verdict = first.right() ? *second.refusal : *first.refusal;
  if (!first.right() && first.refusal->outcome == Outcome::kWrongResult) {
    const auto earlier = HONE_TRY(EarlierOutputs(examination, draw.which));
    verdict.reason += earlier;
    if (!earlier.empty()) return verdict;
  }
  if (first.right() != second.right() && verdict.outcome != Outcome::kOutOfBounds) {
    verdict.reason = "right once and wrong once on the same inputs: " + verdict.reason;
    verdict.outcome = Outcome::kNondeterministic;
    return verdict;
  }
  const bool wrong = verdict.outcome == Outcome::kWrongResult || verdict.outcome == Outcome::kNonfinite;
  if (wrong && OnDevice(examination.settings.form))
    verdict.reason += HONE_TRY(UnwrittenSharedMemory(examination, draw.inputs));
  if (verdict.outcome == Outcome::kWrongResult) verdict.reason += HONE_TRY(CopiedInput(examination));
  return verdict;
}

}  // namespace hone
