// Speed of light: how fast a graph could be at best on a machine whose ceilings were measured. A lower bound of the
// time of the graph as it is written; rewriting it into fewer operations may go below.
#pragma once

#include <string>

#include "graph/graph.h"
#include "target/machine.h"

namespace hone {

struct Bound {
  double us = 0;           // the larger of the two below; 0 when the machine is not calibrated
  double bytes = 0;        // compulsory: inputs and parameters that are read, outputs, and what no memory near the
                           // arithmetic can keep until it is needed again (graph/reread.h)
  double flops = 0;        // a fused multiply-add is 2, a transcendental function kTranscendentalFlops
  double bytes_us = 0;     // at the bandwidth of a working set of all inputs and outputs
  double flops_us = 0;     // at the multiply-add ceiling of the least exact units that the contract allows
  std::string limited_by;  // "memory", "arithmetic", or "unknown" when the machine is not calibrated
  std::string why;         // the terms in a sentence or two, for people
};

// Fewer operations than any implementation of single precision that we know: about six multiply-adds reduce and
// evaluate exp.
inline constexpr double kTranscendentalFlops = 8;

Bound SpeedOfLight(const Graph& graph, const Machine& machine);

}  // namespace hone
