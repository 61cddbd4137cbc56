#include "judge/energy_windows.h"

#include <algorithm>

#include "judge/samples.h"

namespace hone {
namespace {

constexpr std::size_t kLeastMoves = 4;
constexpr int kParts = 10;
// Between two looks: a hundredth of NVML's tick, and no load on a processor whose own energy is counted.
constexpr auto kLook = std::chrono::milliseconds(1);

double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Watts(const EnergyMove& from, const EnergyMove& to) { return (to.joules - from.joules) / (to.at_s - from.at_s); }

}  // namespace

Result<std::optional<EnergyWindow>> WindowOf(const std::vector<EnergyMove>& moves, double from_s, double to_s) {
  for (std::size_t i = 1; i < moves.size(); ++i) {
    if (moves[i].joules < moves[i - 1].joules)
      return Fail(ErrorKind::kDevice, "the energy counter fell: the driver was loaded anew meanwhile; measure again");
  }
  const auto begin =
      std::find_if(moves.begin(), moves.end(), [&](const EnergyMove& one) { return one.at_s >= from_s; });
  const auto end = std::find_if(begin, moves.end(), [&](const EnergyMove& one) { return one.at_s > to_s; });
  const std::vector<EnergyMove> seen(begin, end);
  if (seen.size() < kLeastMoves) return std::optional<EnergyWindow>();
  EnergyWindow window{.seconds = seen.back().at_s - seen.front().at_s, .watts = Watts(seen.front(), seen.back())};
  std::vector<double> ticks;
  for (std::size_t i = 1; i < seen.size(); ++i) ticks.push_back(seen[i].at_s - seen[i - 1].at_s);
  window.tick_s = Median(std::move(ticks));
  // Parts of whole ticks: a counter that moves every millisecond is looked at as seldom as one that takes a tenth.
  const std::size_t stride = std::max<std::size_t>(1, (seen.size() - 1) / kParts);
  for (std::size_t i = 0; i + stride < seen.size(); i += stride) {
    const double watts = Watts(seen[i], seen[i + stride]);
    window.least_watts = i == 0 ? watts : std::min(window.least_watts, watts);
    window.most_watts = std::max(window.most_watts, watts);
  }
  return std::optional(window);
}

EnergyWatch::EnergyWatch(EnergyCounter& counter)
    : counter_(counter), begin_s_(NowSeconds()), thread_([this](const std::stop_token& stop) { Watch(stop); }) {}

void EnergyWatch::Watch(const std::stop_token& stop) {
  std::optional<double> last;
  while (!stop.stop_requested()) {
    const auto joules = counter_.Joules();
    if (!joules) {
      failed_ = tl::unexpected<Error>(joules.error());
      return;
    }
    // The first look is no movement: nobody knows how long it had been so.
    if (last && *joules != *last) moves_.push_back({NowSeconds(), *joules});
    last = *joules;
    std::this_thread::sleep_for(kLook);
  }
}

Result<std::optional<EnergyWindow>> EnergyWatch::End(std::chrono::milliseconds settle) {
  const double end_s = NowSeconds();
  thread_.request_stop();
  thread_.join();
  HONE_TRY(std::move(failed_));
  return WindowOf(moves_, begin_s_ + std::chrono::duration<double>(settle).count(), end_s);
}

}  // namespace hone
