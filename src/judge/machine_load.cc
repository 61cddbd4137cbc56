#include "judge/machine_load.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "base/files.h"

namespace hone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMoment = std::chrono::milliseconds(100);
constexpr double kTicksS = 0.03;  // the counters' steps: one for each of busy and ours, and one for chance

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

std::optional<double> BusySecondsNow() {
  const auto text = ReadFile("/proc/stat");
  if (!text) return std::nullopt;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  return BusySeconds(*text, [&](int processor) { return CPU_ISSET(processor, &allowed); });
}

}  // namespace

std::optional<double> BusySeconds(std::string_view text, const std::function<bool(int processor)>& counts) {
  std::istringstream lines{std::string(text)};
  double ticks = 0, total = 0;
  bool some = false, all = true;
  // "cpu3 user nice system idle iowait irq softirq steal guest guest_nice"; "cpu " is the sum of all.
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(line.find(' ')));
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    words >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    const double busy = user + nice + system + irq + softirq + steal;
    int processor = -1;
    if (std::from_chars(line.data() + 3, line.data() + line.size(), processor).ec != std::errc()) {
      total = busy;
      continue;
    }
    const bool counted = counts(processor);
    if (counted) ticks += busy;
    some |= counted;
    all &= counted;
  }
  if (!some) return std::nullopt;
  return (all ? total : ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

MachineLoad::MachineLoad(double spare, std::function<double()> ours_s) : spare_(spare), ours_s_(std::move(ours_s)) {
  Look();
}

double MachineLoad::OursSeconds() const {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9 + ours_s_();
}

double MachineLoad::SinceLookMs() const { return 1000 * Seconds(Clock::now() - at_); }

double MachineLoad::Look() {
  const auto now = Clock::now();
  const auto busy_s = BusySecondsNow();
  const double ours_s = OursSeconds(), wall_s = Seconds(now - at_);
  double others = 0;
  if (busy_s && busy_s_ && wall_s > 0)
    others = std::max(0.0, (*busy_s - *busy_s_ - (ours_s - then_s_) - kTicksS) / wall_s - spare_);
  at_ = now;
  busy_s_ = busy_s;
  then_s_ = ours_s;
  return others;
}

bool MachineLoad::AwaitQuiet(Clock::time_point end, const std::atomic<bool>* interrupt) {
  Look();
  while (true) {
    std::this_thread::sleep_for(kMoment);
    if (interrupt != nullptr && interrupt->load()) return false;
    if (Look() <= kDisturbingProcessors) return true;
    if (Clock::now() >= end) return false;
  }
}

}  // namespace hone
