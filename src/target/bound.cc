#include "target/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "analysis/collapse.h"
#include "analysis/cost.h"
#include "analysis/reread.h"

namespace hone {
namespace {

// The arithmetic units that the contract asks for.
struct Ceiling {
  double flops = 0;  // FLOP/s
  std::string_view name;
};

// A processor's units for halves may be many times as fast as those for f32 (AMX): unless its products of pairs were
// measured to be all that it has for them, the ceiling of what may be made in halves is unknown. A device has tensor
// cores too: its ceiling in f32 is at least a third of their rate in halves, TF32 has half of that rate, and reals of 8
// bits twice.
Ceiling CeilingOf(const Problem& problem, const DeviceModel& machine) {
  const bool as_stored = problem.contract == Precision::kTorch;
  const auto& tensors = problem.tensors;
  const auto any = [&](bool (*is)(DType)) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return is(tensor.dtype); });
  };
  if (problem.contract == Precision::kFp64 || ((as_stored || problem.contract == Precision::kFp32) &&
                                               std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
                                                 return !IsFloat(t.dtype) || t.dtype == DType::kF64;
                                               })))
    return {machine.ceilings.fma_flops_f64, "f64"};
  const bool halves = problem.contract == Precision::kFp16 || problem.contract == Precision::kBf16 ||
                      (as_stored && any([](DType dtype) { return IsSmallFloat(dtype); }));
  const auto of_library = [&](std::initializer_list<const char*> names) {
    double most = 0;
    for (const char* name : names) {
      if (const auto it = machine.ceilings.matmul_flops.find(name); it != machine.ceilings.matmul_flops.end())
        most = std::max(most, it->second);
    }
    return most;
  };
  if (machine.kind == DeviceKind::kCpu)
    return halves ? Ceiling{of_library({"bf16"}), "halves"} : Ceiling{machine.ceilings.fma_flops_f32, "f32"};
  // Where single precision is had for three products of halves, these are three times as fast.
  const bool of_halves = machine.ceilings.fma_flops_f32 > machine.ceilings.vector_flops_f32;
  const double split = of_halves ? machine.ceilings.fma_flops_f32 : 0;
  const double of_16_bits = std::max(3 * split, of_library({"f16", "bf16"}));
  if (as_stored && any([](DType dtype) { return IsFloat(dtype) && Bytes(dtype) == 1; }))
    return {2 * of_16_bits, "reals of 8 bits"};
  if (halves) return {of_16_bits, "halves"};
  if (problem.contract == Precision::kTf32 ||
      (as_stored && std::any_of(problem.nodes.begin(), problem.nodes.end(), TorchMultipliesInTf32)))
    return {std::max(1.5 * split, of_library({"tf32"})), "tf32"};
  return {machine.ceilings.fma_flops_f32, "f32"};
}

// What can stay near the arithmetic of a machine, in bytes of f32: caches, and on a device registers and shared memory,
// if half of the bits are enough.
double KeptBytes(const DeviceModel& machine) {
  constexpr double kHalf = 2;  // as many elements
  if (machine.kind == DeviceKind::kCuda) {
    const std::int64_t each = 4 * std::int64_t{machine.limits.registers} + machine.l1_bytes;
    return kHalf * static_cast<double>(machine.l2_bytes + machine.multiprocessors * each);
  }
  return kHalf * static_cast<double>(machine.l3_bytes + machine.threads * (machine.l1_bytes + machine.l2_bytes));
}

// As much as is written is read at the pace of a copy; what is read beyond that, at the pace of reading alone.
double BytesUs(const Cost& cost, const DeviceModel& machine) {
  const auto working_set = static_cast<std::int64_t>(cost.bytes());
  const double copy = machine.ceilings.CopyBandwidth(working_set);
  const double read = std::max(copy, machine.ceilings.ReadBandwidth(working_set));
  const double beyond = std::max(0.0, cost.bytes_read - cost.bytes_written);
  return ((cost.bytes() - beyond) / copy + beyond / read) * 1e6;
}

// Below this nobody is.
double LeastUs(const Graph& graph, const DeviceModel& machine, double peak, double saved) {
  Cost least = GraphCost(graph, Which::kLeast);
  const double flops = kLeastMultiplyAdds * std::max(0.0, 2 * least.multiply_adds - saved) +
                       std::max(0.0, least.arithmetic - saved) + least.transcendental;
  // Parameters that can be multiplied out before may be read as something smaller.
  for (const Tensor& tensor : graph.problem().tensors) {
    if (saved > 0 && tensor.role == Role::kParameter)
      least.bytes_read = std::max(0.0, least.bytes_read - static_cast<double>(tensor.bytes()));
  }
  return std::max(BytesUs(least, machine), peak > 0 ? flops / peak * 1e6 : 0);
}

}  // namespace

Bound SpeedOfLight(const Graph& graph, const DeviceModel& machine) {
  Cost cost = GraphCost(graph);
  const double kept = KeptBytes(machine), again = RereadBytes(graph, kept), saved = SavedFlops(graph);
  cost.bytes_read += again;
  Bound bound;
  bound.bytes = cost.bytes();
  bound.flops =
      std::max(0.0, 2 * cost.multiply_adds + cost.arithmetic + kTranscendentalFlops * cost.transcendental - saved);
  const auto [peak, precision] = CeilingOf(graph.problem(), machine);
  const double copy = machine.ceilings.CopyBandwidth(static_cast<std::int64_t>(bound.bytes));
  if (machine.ceilings.fma_flops_f32 <= 0 || copy <= 0) {
    bound.limited_by = "unknown";
    bound.why = "this machine is not calibrated: run `hone calibrate`";
    return bound;
  }
  bound.bytes_us = BytesUs(cost, machine);
  bound.least_us = LeastUs(graph, machine, peak, saved);
  // Where those of f32 are quick enough, faster ones change nothing.
  if (peak <= 0 && bound.flops / machine.ceilings.fma_flops_f32 * 1e6 > bound.bytes_us) {
    bound.limited_by = "unknown";
    bound.why = fmt::format(
        "no bound: {:.3g} MFLOP may be made in {}, and what this machine's units for those reach was not measured; "
        "reading {:.3g} MB and writing {:.3g} MB takes {:.3g} us",
        bound.flops / 1e6, precision, cost.bytes_read / 1e6, cost.bytes_written / 1e6, bound.bytes_us);
    return bound;
  }
  bound.flops_us = peak > 0 ? bound.flops / peak * 1e6 : 0;
  bound.us = std::max(bound.bytes_us, bound.flops_us);
  Cost sure = GraphCost(graph, Which::kSure);
  sure.bytes_read += again;
  const double sure_flops =
      std::max(0.0, 2 * sure.multiply_adds + sure.arithmetic + kTranscendentalFlops * sure.transcendental - saved);
  bound.sure_us = std::min(bound.us, std::max(BytesUs(sure, machine), peak > 0 ? sure_flops / peak * 1e6 : 0));
  bound.datasheet = machine.ceilings.source == Ceilings::Source::kDatasheet;
  bound.limited_by = bound.bytes_us >= bound.flops_us ? "memory" : "arithmetic";
  bound.why = fmt::format(
      "Reading {:.3g} MB and writing {:.3g} MB takes {:.3g} us at {:.1f} GB/s, {}. ", cost.bytes_read / 1e6,
      cost.bytes_written / 1e6, bound.bytes_us, bound.bytes_us > 0 ? bound.bytes / bound.bytes_us / 1e3 : copy / 1e9,
      bound.datasheet ? "the memory bandwidth of the datasheet" : "the bandwidth of a working set of that size");
  bound.why += peak > 0
                   ? fmt::format("{:.3g} MFLOP take {:.3g} us at {:.1f} GFLOP/s, the multiply-add ceiling in {}{}.",
                                 bound.flops / 1e6, bound.flops_us, peak / 1e9, precision,
                                 bound.datasheet ? " of the datasheet" : "")
                   : fmt::format("{:.3g} MFLOP take less in f32 already.", bound.flops / 1e6);
  if (saved > 0) bound.why += fmt::format(" The graph as it is written needs {:.3g} MFLOP more.", saved / 1e6);
  if (sure.bytes() < cost.bytes()) {
    bound.why += fmt::format(
        " Data decide how much of it is read: {:.3g} MB may be spared, and the bound then is {:.3g} us at least.",
        (cost.bytes() - sure.bytes()) / 1e6, bound.sure_us);
  }
  if (again > 0) {
    bound.why += fmt::format(
        " {:.3g} MB are read twice: a sum needs them before any result is known, and no more than {:.3g} MB stay near.",
        again / 1e6, kept / 1e6);
  }
  return bound;
}

}  // namespace hone
