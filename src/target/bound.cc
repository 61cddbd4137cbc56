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

// A processor's units for halves may be many times as fast as those for f32 (AMX): unless its products of pairs were
// measured to be all that it has for them, the ceiling of what may be made in halves is unknown. A device has tensor
// cores too: its ceiling in f32 is at least a third of their rate in halves, TF32 has half of that rate, and reals of 8
// bits twice.
UsedCeiling CeilingOf(const Problem& problem, const DeviceModel& machine) {
  const Ceilings& known = machine.ceilings;
  const bool as_stored = problem.contract == Precision::kTorch;
  const auto& tensors = problem.tensors;
  const auto any = [&](bool (*is)(DType)) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return is(tensor.dtype); });
  };
  const UsedCeiling single{known.fma_flops_f32, "f32", "fma_flops_f32"};
  if (problem.contract == Precision::kFp64 || ((as_stored || problem.contract == Precision::kFp32) &&
                                               std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
                                                 return !IsFloat(t.dtype) || t.dtype == DType::kF64;
                                               })))
    return {known.fma_flops_f64, "f64", "fma_flops_f64"};
  const bool halves = problem.contract == Precision::kFp16 || problem.contract == Precision::kBf16 ||
                      (as_stored && any([](DType dtype) { return IsSmallFloat(dtype); }));
  const auto of_library = [&](std::string_view of, std::initializer_list<const char*> names) {
    UsedCeiling most{0, std::string(of), ""};
    for (const char* name : names) {
      const auto it = known.matmul_flops.find(name);
      if (it == known.matmul_flops.end() || it->second <= most.per_second) continue;
      most.per_second = it->second;
      most.from = fmt::format("matmul_flops.{}", name);
    }
    return most;
  };
  if (machine.kind == DeviceKind::kCpu) return halves ? of_library("halves", {"bf16"}) : single;
  // Where single precision is had for three products of halves, these are three times as fast.
  const bool of_halves = known.fma_flops_f32 > known.vector_flops_f32;
  const auto or_split = [&](double times, UsedCeiling measured) {
    const double split = of_halves ? times * known.fma_flops_f32 : 0;
    if (split <= measured.per_second) return measured;
    return UsedCeiling{split, measured.of, fmt::format("{} x fma_flops_f32", times)};
  };
  const UsedCeiling of_16_bits = or_split(3, of_library("halves", {"f16", "bf16"}));
  if (as_stored && any([](DType dtype) { return IsFloat(dtype) && Bytes(dtype) == 1; }))
    return {2 * of_16_bits.per_second, "reals of 8 bits", "2 x " + of_16_bits.from};
  if (halves) return of_16_bits;
  if (problem.contract == Precision::kTf32 ||
      (as_stored && std::any_of(problem.nodes.begin(), problem.nodes.end(), TorchMultipliesInTf32)))
    return or_split(1.5, of_library("tf32", {"tf32"}));
  return single;
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
struct Moved {
  double copied = 0, beyond = 0;  // bytes
  double copy_per_second = 0, read_per_second = 0;
  double us() const { return (copied / copy_per_second + beyond / read_per_second) * 1e6; }
};

Moved Move(const Cost& cost, const DeviceModel& machine) {
  Moved moved;
  const auto working_set = static_cast<std::int64_t>(cost.bytes());
  moved.copy_per_second = machine.ceilings.CopyBandwidth(working_set);
  moved.read_per_second = std::max(moved.copy_per_second, machine.ceilings.ReadBandwidth(working_set));
  moved.beyond = std::max(0.0, cost.bytes_read - cost.bytes_written);
  moved.copied = cost.bytes() - moved.beyond;
  return moved;
}

double Flops(const Cost& cost) {
  return 2 * cost.multiply_adds + cost.arithmetic + kTranscendentalFlops * cost.transcendental;
}

// Below this nobody is.
void FindLeast(const Graph& graph, const DeviceModel& machine, Bound& bound) {
  const double saved = bound.terms.saved_flops, peak = bound.terms.arithmetic.per_second;
  Cost least = GraphCost(graph, Which::kLeast);
  bound.terms.least_flops = kLeastMultiplyAdds * std::max(0.0, 2 * least.multiply_adds - saved) +
                            std::max(0.0, least.arithmetic - saved) + least.transcendental;
  // Parameters that can be multiplied out before may be read as something smaller.
  for (const Tensor& tensor : graph.problem().tensors) {
    if (saved > 0 && tensor.role == Role::kParameter)
      least.bytes_read = std::max(0.0, least.bytes_read - static_cast<double>(tensor.bytes()));
  }
  bound.terms.least_bytes = least.bytes();
  bound.least_us = std::max(Move(least, machine).us(), peak > 0 ? bound.terms.least_flops / peak * 1e6 : 0);
}

}  // namespace

Bound SpeedOfLight(const Graph& graph, const DeviceModel& machine) {
  Cost cost = GraphCost(graph);
  const double kept = KeptBytes(machine), again = RereadBytes(graph, kept), saved = SavedFlops(graph);
  Bound bound;
  bound.terms.cost = cost;
  bound.terms.read_again = again;
  bound.terms.kept_bytes = kept;
  bound.terms.saved_flops = saved;
  cost.bytes_read += again;
  bound.bytes = cost.bytes();
  bound.flops = std::max(0.0, Flops(cost) - saved);
  const Moved moved = Move(cost, machine);
  const double copy = moved.copy_per_second;
  bound.terms.copied_bytes = moved.copied;
  bound.terms.copy = {copy, "copying", "bandwidth.copy_bytes_per_second"};
  const bool as_copy = moved.read_per_second <= copy;
  bound.terms.read = {moved.read_per_second, "reading",
                      as_copy ? bound.terms.copy.from : "bandwidth.read_bytes_per_second"};
  bound.terms.arithmetic = CeilingOf(graph.problem(), machine);
  const double peak = bound.terms.arithmetic.per_second;
  const std::string& precision = bound.terms.arithmetic.of;
  if (machine.ceilings.fma_flops_f32 <= 0 || copy <= 0) {
    bound.limited_by = "unknown";
    bound.why = "this machine is not calibrated: run `hone calibrate`";
    return bound;
  }
  bound.bytes_us = moved.us();
  FindLeast(graph, machine, bound);
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
  const double sure_flops = std::max(0.0, Flops(sure) - saved);
  bound.terms.spared_bytes = std::max(0.0, cost.bytes() - sure.bytes());
  bound.terms.spared_flops = std::max(0.0, bound.flops - sure_flops);
  bound.sure_us = std::min(bound.us, std::max(Move(sure, machine).us(), peak > 0 ? sure_flops / peak * 1e6 : 0));
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

AloneTime TimeAlone(const Cost& cost, const Bound& of_graph, const DeviceModel& machine) {
  AloneTime alone;
  if (cost.bytes() > 0 && of_graph.terms.copy.per_second > 0) alone.bytes_us = Move(cost, machine).us();
  const double peak = of_graph.terms.arithmetic.per_second;
  if (peak > 0) alone.flops_us = Flops(cost) / peak * 1e6;
  // As of the whole graph: where those of f32 are quick enough, faster ones change nothing.
  const double single = machine.ceilings.fma_flops_f32;
  alone.known = peak > 0 || Flops(cost) <= alone.bytes_us / 1e6 * single;
  return alone;
}

std::vector<std::string> NotVouchedFor(const Bound& bound, const DeviceModel& machine) {
  std::vector<std::string> sentences;
  const BoundTerms& terms = bound.terms;
  if (bound.us <= 0 && !bound.why.empty()) sentences.push_back(bound.why);
  if (machine.ceilings.source == Ceilings::Source::kDatasheet) {
    sentences.push_back(
        "the ceilings are the datasheet's: clocks under load, and the bandwidth of caches, are not in them");
  } else if (bound.us > 0 && bound.bytes < static_cast<double>(machine.kind == DeviceKind::kCuda ? machine.l2_bytes
                                                                                                 : machine.l3_bytes)) {
    sentences.push_back(
        "a working set of that size fits in a cache: calls that find it cold are not as fast as the bound");
  }
  if (bound.us > 0 && terms.arithmetic.per_second <= 0) {
    sentences.push_back(
        fmt::format("what this machine reaches in {} was not measured; in f32 it takes no longer than moving",
                    terms.arithmetic.of));
  }
  if (terms.spared_bytes > 0 || terms.spared_flops > 0) {
    sentences.push_back(
        fmt::format("data decide about {:.3g} MB and {:.3g} MFLOP of it: {:.4g} us is the least for sure",
                    terms.spared_bytes / 1e6, terms.spared_flops / 1e6, bound.sure_us));
  }
  if (bound.us > 0 && terms.cost.transcendental > 0) {
    sentences.push_back(fmt::format(
        "{:.3g} M transcendental functions count {:.0f} FLOP each; units of their own may take less of the time",
        terms.cost.transcendental / 1e6, kTranscendentalFlops));
  }
  const double launch = machine.ceilings.fork_join_us;
  if (bound.us > 0 && launch > bound.us / 20) {
    sentences.push_back(fmt::format(
        "starting is not in it: {} takes {:.3g} us here",
        machine.kind == DeviceKind::kCuda ? "a launch in a CUDA graph" : "an empty parallel region", launch));
  }
  return sentences;
}

}  // namespace hone
