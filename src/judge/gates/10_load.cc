// It can be loaded: a module with its functions, a plan that its device takes. What it does while it loads, it does
// behind the sandbox; how that can end is the worker's verdict.
#include "judge/gate.h"

namespace hone::gate_10_load {
namespace {

Result<Refusal> Look(Examination& examination, const Loading& loading) {
  return examination.Tell(loading.question, "");
}

}  // namespace

HONE_ROW(Gate){.name = "10_load", .loaded = Look};

}  // namespace hone::gate_10_load
