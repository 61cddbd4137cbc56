#include "target/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "graph/cost.h"
#include "graph/reread.h"

namespace hone {
namespace {

// The arithmetic units that the contract asks for.
struct Ceiling {
  double flops = 0;  // FLOP/s
  std::string_view name;
};

bool IsHalf(const Tensor& tensor) { return tensor.dtype == DType::kF16 || tensor.dtype == DType::kBF16; }

// A processor has units for f32 and f64; what may be less exact uses those of f32. A device has tensor cores too: its
// ceiling in f32 is at least a third of their rate in halves, and TF32 has half of that rate.
Ceiling CeilingOf(const Problem& problem, const Machine& machine) {
  const bool as_stored = problem.contract == Precision::kTorch;
  const auto& tensors = problem.tensors;
  if (problem.contract == Precision::kFp64 || ((as_stored || problem.contract == Precision::kFp32) &&
                                               std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
                                                 return !IsFloat(t.dtype) || t.dtype == DType::kF64;
                                               })))
    return {machine.fma_flops_f64, "f64"};
  if (!machine.cuda) return {machine.fma_flops_f32, "f32"};
  const auto of_library = [&](std::initializer_list<const char*> names) {
    double most = 0;
    for (const char* name : names) {
      if (const auto it = machine.matmul_flops.find(name); it != machine.matmul_flops.end())
        most = std::max(most, it->second);
    }
    return most;
  };
  if (problem.contract == Precision::kFp16 || problem.contract == Precision::kBf16 ||
      (as_stored && std::any_of(tensors.begin(), tensors.end(), IsHalf)))
    return {std::max(3 * machine.fma_flops_f32, of_library({"f16", "bf16"})), "halves"};
  if (problem.contract == Precision::kTf32 ||
      (as_stored && std::any_of(problem.nodes.begin(), problem.nodes.end(), TorchMultipliesInTf32)))
    return {std::max(1.5 * machine.fma_flops_f32, of_library({"tf32"})), "tf32"};
  return {machine.fma_flops_f32, "f32"};
}

// What can stay near the arithmetic of a machine, in bytes of f32: caches, and on a device registers and shared memory,
// if half of the bits are enough.
double KeptBytes(const Machine& machine) {
  constexpr double kHalf = 2;                      // as many elements
  constexpr double kOfMultiprocessor = 512 << 10;  // 256 KiB of registers, and as much that is shared memory and cache
  const auto cores = static_cast<double>(machine.threads);
  if (machine.cuda) return kHalf * (static_cast<double>(machine.l2_bytes) + cores * kOfMultiprocessor);
  return kHalf *
         (static_cast<double>(machine.l3_bytes) + cores * static_cast<double>(machine.l1_bytes + machine.l2_bytes));
}

}  // namespace

Bound SpeedOfLight(const Graph& graph, const Machine& machine) {
  Cost cost = GraphCost(graph);
  const double kept = KeptBytes(machine), again = RereadBytes(graph, kept);
  cost.bytes_read += again;
  Bound bound;
  bound.bytes = cost.bytes();
  bound.flops = 2 * cost.multiply_adds + cost.arithmetic + kTranscendentalFlops * cost.transcendental;
  const auto [peak, precision] = CeilingOf(graph.problem(), machine);
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
      peak / 1e9, precision);
  if (again > 0) {
    bound.why += fmt::format(
        " {:.3g} MB are read twice: a sum needs them before any result is known, and no more than {:.3g} MB stay near.",
        again / 1e6, kept / 1e6);
  }
  return bound;
}

}  // namespace hone
