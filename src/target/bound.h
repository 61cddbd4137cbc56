// Speed of light: how fast a graph could be at best on a device whose ceilings are known, by its cheapest order of
// summation (analysis/collapse.h); and the time that nobody is below, whatever the algorithm.
#pragma once

#include <string>
#include <vector>

#include "analysis/cost.h"
#include "graph/graph.h"
#include "target/device_model.h"

namespace hone {

// A rate that a bound divides by. 0: not known.
struct UsedCeiling {
  double per_second = 0;  // bytes or FLOP
  std::string of;         // "f32", "tf32", "copying", "reading"
  std::string from;       // how it follows from the device's ceilings: "1.5 x fma_flops_f32"
};

// What a bound was computed from.
struct BoundTerms {
  // What faster units make than those of `arithmetic`: products of numbers of 8 bits, as far as they are counted.
  struct Narrow {
    double flops = 0;
    UsedCeiling at;
  };
  Cost cost;               // of all that the outputs need, as it is written; bytes that are read twice not in it
  double read_again = 0;   // bytes that no memory near the arithmetic keeps (analysis/reread.h)
  double kept_bytes = 0;   // that it keeps at most
  double saved_flops = 0;  // by the cheapest order of summation
  double spared_bytes = 0, spared_flops = 0;  // that data may make unnecessary
  double copied_bytes = 0;                    // read and written at the pace of a copy; the others only read
  UsedCeiling copy, read, arithmetic;
  Narrow wholes8, reals8;
  double least_bytes = 0, least_flops = 0;  // of least_us
};

struct Bound {
  double us = 0;           // the larger of bytes_us and flops_us; 0 = no bound: `why` says what it lacks
  double sure_us = 0;      // the same without what data may spare, us where they spare nothing: a mask, say, hides what
                           // then need not be read. Who looks for the end of a search looks here
  double least_us = 0;     // who is faster is suspicious: below everything possible, or 0, which refuses nobody
  double bytes = 0;        // compulsory: inputs and parameters that are read, outputs, and what no memory near the
                           // arithmetic can keep until it is needed again (analysis/reread.h)
  double flops = 0;        // a fused multiply-add is 2, a transcendental function kTranscendentalFlops
  double bytes_us = 0;     // at the bandwidth of a working set of all inputs and outputs
  double flops_us = 0;     // at the multiply-add ceiling of the least exact units that the contract allows, products of
                           // 8 bits at those of theirs; 0 where that was not measured
  std::string limited_by;  // "memory", "arithmetic", or "unknown" when there is no bound
  std::string why;         // the terms in a sentence or two, for people
  bool datasheet = false;  // by the ceilings that the device's maker states: nothing was measured
  BoundTerms terms;
};

// Fewer operations than any implementation of single precision that we know: about six multiply-adds reduce and
// evaluate exp.
inline constexpr double kTranscendentalFlops = 8;

// Multiply-adds of a contraction count so many times in least_us: Strassen needs seven of eight at each level, Winograd
// one of 2.25 to 5 in convolutions, and units for halves that are many times as fast as those for f32 take six products
// of operands split in three.
inline constexpr double kLeastMultiplyAdds = 1.0 / 6;

Bound SpeedOfLight(const Graph& graph, const DeviceModel& machine);

// An operator as if it ran alone on the same ceilings, all that it reads and writes in memory: what not fusing it
// costs. Launching is not in it.
struct AloneTime {
  double bytes_us = 0, flops_us = 0;  // 0: a view moves nothing, or the ceiling is not known
  bool known = true;                  // false: its arithmetic may take longer, at a ceiling that is not known
  double us() const { return bytes_us > flops_us ? bytes_us : flops_us; }
};
AloneTime TimeAlone(const Cost& cost, const Bound& of_graph, const DeviceModel& machine);

// What the bound does not vouch for, a sentence each: ceilings that were not measured, orders of magnitude that are
// taken as given, what data decide. Empty: nothing of the kind.
std::vector<std::string> NotVouchedFor(const Bound& bound, const DeviceModel& machine);

}  // namespace hone
