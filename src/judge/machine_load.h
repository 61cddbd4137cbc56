// What others make of this machine's processors while something is timed.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

namespace hone {

// Seconds that the processors of `text`, a /proc/stat, have worked for anybody or were taken by a hypervisor so far; of
// those that `counts` says count. Nothing if there are none. Of all of them, the kernel's own sum: it is rounded once.
std::optional<double> BusySeconds(std::string_view text, const std::function<bool(int processor)>& counts);

// Not thread-safe.
class MachineLoad {
 public:
  // `spare`: processors that may work for others without being in the way. `ours_s`: processor seconds of all that is
  // ours so far, this process excepted.
  MachineLoad(double spare, std::function<double()> ours_s);

  double SinceLookMs() const;
  // How many processors worked for others since the last look, on average, as far as they are in the way; 0 where the
  // system does not say. It counts in hundredths of a second: ask after a tenth at least.
  double Look();
  // Waits until the machine is quiet for a moment; false when it does not become so by `end`, or `interrupt` rises.
  bool AwaitQuiet(std::chrono::steady_clock::time_point end, const std::atomic<bool>* interrupt);

 private:
  double OursSeconds() const;

  double spare_;
  std::function<double()> ours_s_;
  std::chrono::steady_clock::time_point at_;
  std::optional<double> busy_s_;
  double then_s_ = 0;  // OursSeconds() at_
};

// More than this is a disturbance: what a machine at rest does is below, a program that computes above.
inline constexpr double kDisturbingProcessors = 0.25;

}  // namespace hone
