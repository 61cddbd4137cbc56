// It has set no part of a device's second-level cache aside: what lies there would not be as cold as a cold call has to
// find it.
#include <fmt/format.h>

#include "judge/gate.h"

namespace hone::gate_20_cache_share {
namespace {

Result<Refusal> Look(Examination&, const LookedAtCall& call) {
  if (call.reply.persisting_bytes <= 0) return Refusal();
  return Refuse(
      Outcome::kSuspicious,
      fmt::format(
          "set {} bytes of the second-level cache aside: what lies there is not as cold as a cold call has to find it",
          call.reply.persisting_bytes),
      call.inputs.name);
}

}  // namespace

HONE_ROW(Gate){.name = "20_cache_share", .called = Look};

}  // namespace hone::gate_20_cache_share
