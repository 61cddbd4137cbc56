// Speed of light: how fast a graph could be at best on a device whose ceilings are known, by its cheapest order of
// summation (analysis/collapse.h); and the time that nobody is below, whatever the algorithm.
#pragma once

#include <string>

#include "graph/graph.h"
#include "target/device_model.h"

namespace hone {

struct Bound {
  double us = 0;           // the larger of bytes_us and flops_us; 0 = no bound: `why` says what it lacks
  double sure_us = 0;      // the same without what data may spare, us where they spare nothing: a mask, say, hides what
                           // then need not be read. Who looks for the end of a search looks here
  double least_us = 0;     // who is faster is suspicious: below everything possible, or 0, which refuses nobody
  double bytes = 0;        // compulsory: inputs and parameters that are read, outputs, and what no memory near the
                           // arithmetic can keep until it is needed again (analysis/reread.h)
  double flops = 0;        // a fused multiply-add is 2, a transcendental function kTranscendentalFlops
  double bytes_us = 0;     // at the bandwidth of a working set of all inputs and outputs
  double flops_us = 0;     // at the multiply-add ceiling of the least exact units that the contract allows; 0 where
                           // that was not measured
  std::string limited_by;  // "memory", "arithmetic", or "unknown" when there is no bound
  std::string why;         // the terms in a sentence or two, for people
  bool datasheet = false;  // by the ceilings that the device's maker states: nothing was measured
};

// Fewer operations than any implementation of single precision that we know: about six multiply-adds reduce and
// evaluate exp.
inline constexpr double kTranscendentalFlops = 8;

// Multiply-adds of a contraction count so many times in least_us: Strassen needs seven of eight at each level, Winograd
// one of 2.25 to 5 in convolutions, and units for halves that are many times as fast as those for f32 take six products
// of operands split in three.
inline constexpr double kLeastMultiplyAdds = 1.0 / 6;

Bound SpeedOfLight(const Graph& graph, const DeviceModel& machine);

}  // namespace hone
