// A module on a device waits for its stream: what it does before, no clock sees. Once it is called while the stream is
// held; nothing may be written by then.
#include "judge/gate.h"

namespace hone::gate_35_stream_order {
namespace {

Result<Refusal> Look(Examination& examination, const PreparedDraw& draw) {
  if (draw.which != 0 || examination.settings.form != Form::kCudaModule) return Refusal();
  Trial& trial = examination.trial;
  HONE_TRY(trial.Load(draw.inputs, 0));
  HONE_TRY(trial.Poison(0, kPoison));
  HONE_TRY(trial.Poison(1, kPoison));
  Request run;
  run.ask = Ask::kRun;
  run.held = 1;
  const auto answer = HONE_TRY(examination.Ask(run, draw.inputs.name));
  if (!answer) return answer.error();
  bool untouched = true;  // slot 1 is
  for (std::size_t i = 0; i < trial.outputs() && untouched; ++i) untouched = HONE_TRY(trial.SameOutput(0, 1, i));
  HONE_PASS(examination.Tell({}, draw.inputs.name));
  // A module that waits in hone_run has been let go by then: it pays for the wait in its time.
  if (untouched || answer->said.held == 0) return Refusal();
  return Refuse(Outcome::kSuspicious,
                "wrote outputs before its stream came to it: work on other streams has to wait for call->stream, too",
                draw.inputs.name);
}

}  // namespace

HONE_ROW(Gate){.name = "35_stream_order", .drawn = Look};

}  // namespace hone::gate_35_stream_order
