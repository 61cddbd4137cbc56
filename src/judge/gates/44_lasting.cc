// It is right after many calls, too, and not in its first ones only.
#include "judge/gate.h"

namespace hone::gate_44_lasting {
namespace {

Result<Refusal> Look(Examination&, const Soaked& soaked) {
  Refusal refusal = soaked.seen.refusal;
  if (refusal) refusal->reason = "right in its first calls only: " + refusal->reason;
  return refusal;
}

}  // namespace

HONE_ROW(Gate){.name = "44_lasting", .soaked = Look};

}  // namespace hone::gate_44_lasting
