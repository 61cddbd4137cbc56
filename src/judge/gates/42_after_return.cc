// A call's work is done when it returns, or, on a device, when its stream is. A module that hands its work to a thread
// or to another stream and returns takes as long as the work, and the clocks see nothing of it.
#include <fmt/format.h>

#include "judge/gate.h"
#include "judge/samples.h"

namespace hone::gate_42_after_return {
namespace {

// An OpenMP thread that lies down takes a few microseconds.
constexpr double kAfterUs = 15, kAfterThreadUs = 10;
constexpr double kAfterDeviceUs = 20;
constexpr double kShare = 0.1;  // of the call

Result<Refusal> Look(Examination& examination, const Soaked&) {
  const double after_us = Median(examination.found.after_us);
  const bool device = OnDevice(examination.settings.form);
  const double most_us = device ? kAfterDeviceUs : kAfterUs + kAfterThreadUs * examination.settings.threads;
  if (after_us <= most_us || after_us <= kShare * examination.found.call_us) return Refusal();
  return Refuse(
      Outcome::kSuspicious,
      device
          ? fmt::format(
                "the device worked for {:.0f} us after the stream was done: all work belongs on call->stream, or "
                "on streams that it waits for",
                after_us)
          : fmt::format("went on computing after hone_run had returned: {:.0f} us of processor time in other threads",
                        after_us));
}

}  // namespace

HONE_ROW(Gate){.name = "42_after_return", .soaked = Look};

}  // namespace hone::gate_42_after_return
