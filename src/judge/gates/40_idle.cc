// It does nothing when nothing is asked of it: threads of its own that compute on would be at work while others are
// timed, or ahead of the clock. Not on a device: a module can make no threads there, what the device does is for
// 42_after_return, and the driver's own threads take a millisecond now and then.
#include <fmt/format.h>

#include <chrono>

#include "judge/gate.h"

namespace hone::gate_40_idle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kWatch = std::chrono::milliseconds(2);
constexpr std::uint64_t kProcessorNs = 500'000;  // that all of its threads together may use meanwhile

Result<Refusal> Look(Examination& examination, const Soaked&) {
  if (OnDevice(examination.settings.form)) return Refusal();
  const bool quiet = examination.AwaitQuiet(kWatch);
  const auto used = examination.worker.ProcessorNanoseconds() - examination.returned_ns;
  const double watched_ms = std::chrono::duration<double, std::milli>(Clock::now() - examination.returned_at).count();
  if (quiet && used <= kProcessorNs) return Refusal();
  return Refuse(
      Outcome::kSuspicious,
      fmt::format("went on computing after hone_run had returned: {:.1f} ms of processor time within {:.1f} ms",
                  static_cast<double>(used) / 1e6, watched_ms));
}

}  // namespace

HONE_ROW(Gate){.name = "40_idle", .soaked = Look};

}  // namespace hone::gate_40_idle
