// It has not written to its inputs, nor to the parameters. On a host they are mapped read-only, and it crashes; on a
// device a candidate can make them writable, so they are held against the judge's own.
#include <fmt/format.h>

#include "judge/gate.h"

namespace hone::gate_22_inputs {
namespace {

Result<Refusal> Look(Examination& examination, const LookedAtCall& call) {
  const auto changed = HONE_TRY(examination.trial.FindChangedInput(call.inputs, call.slot));
  if (!changed) return Refusal();
  return Refuse(Outcome::kInputModified,
                fmt::format("wrote to {} '{}' or around it, at byte {}; it is read-only",
                            changed->parameter ? "parameter" : "input", changed->name, changed->offset),
                call.inputs.name);
}

}  // namespace

HONE_ROW(Gate){.name = "22_inputs", .called = Look};

}  // namespace hone::gate_22_inputs
