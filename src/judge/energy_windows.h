// Windows of energy: what a device has used between two movements of its counter, while one thing was going on.
//
//   count   ____|‾‾‾‾|____ ...  moves every 100 ms, say
//   calls     [=======================================]   one question to a worker, for seconds
//   window         |<--------------------------->|        from the first movement after the calls settled to the last
//
// The calls go on at one pace, so joules of a call = watts of the window * seconds of a call: the window need not begin
// or end with a call, and no tick is counted in part.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "target/energy_counter.h"

namespace hone {

// A movement of the counter.
struct EnergyMove {
  double at_s = 0;  // of a rising clock, when it was seen
  double joules = 0;
};

struct EnergyWindow {
  double seconds = 0, watts = 0;
  double tick_s = 0;                       // median time between movements
  double least_watts = 0, most_watts = 0;  // of a tenth of the window: how even it was
};

// From the first movement at or after `from_s` to the last at or before `to_s`. Nothing with less than four movements.
// kDevice when the counter fell.
Result<std::optional<EnergyWindow>> WindowOf(const std::vector<EnergyMove>& moves, double from_s, double to_s);

// Watches a counter from a thread of its own for as long as it lives, so that the caller may wait for a worker. The
// counter outlives it and is read by nobody else meanwhile.
class EnergyWatch {
 public:
  explicit EnergyWatch(EnergyCounter& counter);
  EnergyWatch(const EnergyWatch&) = delete;
  EnergyWatch& operator=(const EnergyWatch&) = delete;

  // Ends it: what was seen after the first `settle`.
  Result<std::optional<EnergyWindow>> End(std::chrono::milliseconds settle);

 private:
  void Watch(const std::stop_token& stop);
  EnergyCounter& counter_;
  const double begin_s_;
  std::vector<EnergyMove> moves_;  // the thread's until it has ended
  Result<void> failed_;
  std::jthread thread_;  // gone first
};

}  // namespace hone
