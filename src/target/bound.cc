#include "target/bound.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/cost.h"

namespace hone {
namespace {

// The arithmetic units that the contract asks for: a processor has them for f32 and f64; what may be less exact uses
// those of f32.
bool NeedsDouble(const Problem& problem) {
  if (problem.contract == Precision::kFp64) return true;
  if (problem.contract != Precision::kTorch && problem.contract != Precision::kFp32) return false;
  return std::all_of(problem.tensors.begin(), problem.tensors.end(),
                     [](const Tensor& t) { return !IsFloat(t.dtype) || t.dtype == DType::kF64; });
}

}  // namespace

Bound SpeedOfLight(const Graph& graph, const Machine& machine) {
  const Cost cost = GraphCost(graph);
  Bound bound;
  bound.bytes = cost.bytes();
  bound.flops = 2 * cost.multiply_adds + cost.arithmetic + kTranscendentalFlops * cost.transcendental;
  const bool wide = NeedsDouble(graph.problem());
  const double peak = wide ? machine.fma_flops_f64 : machine.fma_flops_f32;
  const auto working_set = static_cast<std::int64_t>(bound.bytes);
  const double copy = machine.CopyBandwidth(working_set);
  const double read = std::max(copy, machine.ReadBandwidth(working_set));
  if (peak <= 0 || copy <= 0) {
    bound.limited_by = "unknown";
    bound.why = "this machine is not calibrated: run `hone calibrate`";
    return bound;
  }
  // As much as is written is read at the pace of a copy; what is read beyond that, at the pace of reading alone.
  const double beyond = std::max(0.0, cost.bytes_read - cost.bytes_written);
  bound.bytes_us = ((bound.bytes - beyond) / copy + beyond / read) * 1e6;
  bound.flops_us = bound.flops / peak * 1e6;
  bound.us = std::max(bound.bytes_us, bound.flops_us);
  bound.limited_by = bound.bytes_us >= bound.flops_us ? "memory" : "arithmetic";
  bound.why = fmt::format(
      "Reading {:.3g} MB and writing {:.3g} MB takes {:.3g} us at {:.1f} GB/s, the bandwidth of a working set of that "
      "size. {:.3g} MFLOP take {:.3g} us at "
      "{:.1f} GFLOP/s, the multiply-add ceiling in {}.",
      cost.bytes_read / 1e6, cost.bytes_written / 1e6, bound.bytes_us,
      bound.bytes_us > 0 ? bound.bytes / bound.bytes_us / 1e3 : copy / 1e9, bound.flops / 1e6, bound.flops_us,
      peak / 1e9, wide ? "f64" : "f32");
  return bound;
}

}  // namespace hone
