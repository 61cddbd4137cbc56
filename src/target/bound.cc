#include "target/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "analysis/cost.h"
#include "analysis/graph_costs.h"
#include "analysis/reread.h"

namespace hone {
namespace {

// FLOP/s of products in any of these types.
UsedCeiling OfLibrary(const Ceilings& known, std::string_view of, std::initializer_list<const char*> names) {
  UsedCeiling most{0, std::string(of), ""};
  for (const char* name : names) {
    const auto it = known.matmul_flops.find(name);
    if (it == known.matmul_flops.end() || it->second <= most.per_second) continue;
    most.per_second = it->second;
    most.from = fmt::format("matmul_flops.{}", name);
  }
  return most;
}

UsedCeiling Times(double times, const UsedCeiling& one, std::string_view of) {
  return {times * one.per_second, std::string(of), fmt::format("{} x {}", times, one.from)};
}

// Where single precision is had for three products of halves, these are three times as fast.
UsedCeiling OrSplit(const Ceilings& known, double times, UsedCeiling measured) {
  const double split = known.fma_flops_f32 > known.vector_flops_f32 ? times * known.fma_flops_f32 : 0;
  if (split <= measured.per_second) return measured;
  return {split, measured.of, fmt::format("{} x fma_flops_f32", times)};
}

UsedCeiling OfHalves(const Ceilings& known) { return OrSplit(known, 3, OfLibrary(known, "halves", {"f16", "bf16"})); }

// Of products of numbers of 8 bits. Where it was not measured: twice that of halves, or four times on devices that are
// slow to sum halves in f32. A processor's units for pairs of bytes make four products for one in f32, and those for
// tiles (AMX) 32.
UsedCeiling CeilingOfNarrow(const DeviceModel& machine, const char* type, const char* of) {
  const Ceilings& known = machine.ceilings;
  UsedCeiling narrow = OfLibrary(known, of, {type});
  if (narrow.per_second > 0) return narrow;
  const UsedCeiling single{known.fma_flops_f32, "f32", "fma_flops_f32"};
  if (machine.kind == DeviceKind::kCpu) {
    const UsedCeiling pairs = OfLibrary(known, "halves", {"bf16"});
    if (pairs.per_second <= 0) return Times(32, single, of);
    return 2 * pairs.per_second > 4 * single.per_second ? Times(2, pairs, of) : Times(4, single, of);
  }
  const bool slow_sums = machine.processor.find("GeForce") != std::string::npos;
  return Times(slow_sums ? 4 : 2, OfHalves(known), of);
}

// Whole numbers are exact whatever the contract. Sums of reals of 8 bits are less so than those in f32.
UsedCeiling CeilingOfWholes8(const DeviceModel& machine) {
  return CeilingOfNarrow(machine, "i8", "whole numbers of 8 bits");
}
UsedCeiling CeilingOfReals8(const Problem& problem, const DeviceModel& machine) {
  const bool exact = problem.contract == Precision::kFp32 || problem.contract == Precision::kTf32;
  // No units of sm_80 are for them.
  if (machine.kind == DeviceKind::kCuda && (exact || machine.arch == "sm_80")) return OfHalves(machine.ceilings);
  return CeilingOfNarrow(machine, "f8", "reals of 8 bits");
}

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
  if (machine.kind == DeviceKind::kCpu) return halves ? OfLibrary(known, "halves", {"bf16"}) : single;
  // Where a result keeps so few bits, those of operands may be rounded away before.
  if (as_stored && std::any_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) {
        return tensor.role == Role::kOutput && IsFloat(tensor.dtype) && Bytes(tensor.dtype) == 1;
      }))
    return CeilingOfReals8(problem, machine);
  if (halves) return OfHalves(known);
  if (problem.contract == Precision::kTf32 ||
      (as_stored && std::any_of(problem.nodes.begin(), problem.nodes.end(), TorchMultipliesInTf32)))
    return OrSplit(known, 1.5, OfLibrary(known, "tf32", {"tf32"}));
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

// What work takes, of which algebra saves some: all that is left may be of the kind that is made fastest. Products of
// numbers of 8 bits have units of their own, beside which others work.
struct Worked {
  double flops = 0, wholes8 = 0, reals8 = 0, us = 0;
  double wide() const { return flops - wholes8 - reals8; }
};

// `counted`: that so much of a multiply-add counts.
Worked Work(double counted, double flops, const Cost& cost, const BoundTerms& terms) {
  Worked worked;
  worked.flops = flops;
  const double each = 2 * counted;
  const auto narrow = [&](double products, const BoundTerms::Narrow& of) {
    return of.at.per_second > terms.arithmetic.per_second ? std::min(each * products, worked.wide()) : 0;
  };
  worked.wholes8 = narrow(cost.wholes8, terms.wholes8);
  worked.reals8 = narrow(cost.reals8, terms.reals8);
  double tensor_us = 0;
  if (worked.wholes8 > 0) tensor_us += worked.wholes8 / terms.wholes8.at.per_second * 1e6;
  if (worked.reals8 > 0) tensor_us += worked.reals8 / terms.reals8.at.per_second * 1e6;
  const double peak = terms.arithmetic.per_second;
  if (peak <= 0) {
    worked.us = tensor_us;
    return worked;
  }
  const double others = each * std::max(0.0, cost.multiply_adds - cost.wholes8 - cost.reals8);
  if (tensor_us > 0) tensor_us += std::min(others, worked.wide()) / peak * 1e6;
  worked.us = std::max(tensor_us, worked.wide() / peak * 1e6);
  return worked;
}
Worked Work(const Cost& cost, double saved, const BoundTerms& terms) {
  return Work(1, std::max(0.0, Flops(cost) - saved), cost, terms);
}

// Below this nobody is.
void FindLeast(const Graph& graph, const DeviceModel& machine, Cost least, Bound& bound) {
  const double saved = bound.terms.saved_flops;
  bound.terms.least_flops = kLeastMultiplyAdds * std::max(0.0, 2 * least.multiply_adds - saved) +
                            std::max(0.0, least.arithmetic - saved) + least.transcendental;
  // Parameters that can be multiplied out before may be read as something smaller.
  for (const Tensor& tensor : graph.problem().tensors) {
    if (saved > 0 && tensor.role == Role::kParameter)
      least.bytes_read = std::max(0.0, least.bytes_read - static_cast<double>(tensor.bytes()));
  }
  bound.terms.least_bytes = least.bytes();
  bound.least_us =
      std::max(Move(least, machine).us(), Work(kLeastMultiplyAdds, bound.terms.least_flops, least, bound.terms).us);
}

}  // namespace

Bound SpeedOfLight(const Graph& graph, const DeviceModel& machine) {
  const GraphCosts costs = CostsOf(graph);
  Cost cost = costs.written;
  const double kept = KeptBytes(machine), again = RereadBytes(graph, kept), saved = costs.saved_flops;
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
  bound.terms.wholes8.at = CeilingOfWholes8(machine);
  bound.terms.reals8.at = CeilingOfReals8(graph.problem(), machine);
  const double peak = bound.terms.arithmetic.per_second;
  const std::string& precision = bound.terms.arithmetic.of;
  if (machine.ceilings.fma_flops_f32 <= 0 || copy <= 0) {
    bound.limited_by = "unknown";
    bound.why = "this machine is not calibrated: run `hone calibrate`";
    return bound;
  }
  bound.bytes_us = moved.us();
  const Worked worked = Work(cost, saved, bound.terms);
  bound.terms.wholes8.flops = worked.wholes8;
  bound.terms.reals8.flops = worked.reals8;
  FindLeast(graph, machine, costs.least, bound);
  // Where those of f32 are quick enough, faster ones change nothing.
  if (peak <= 0 && worked.wide() / machine.ceilings.fma_flops_f32 * 1e6 > bound.bytes_us) {
    bound.limited_by = "unknown";
    bound.why = fmt::format(
        "no bound: {:.3g} MFLOP may be made in {}, and what this machine's units for those reach was not measured; "
        "reading {:.3g} MB and writing {:.3g} MB takes {:.3g} us",
        worked.wide() / 1e6, precision, cost.bytes_read / 1e6, cost.bytes_written / 1e6, bound.bytes_us);
    return bound;
  }
  bound.flops_us = worked.us;
  bound.us = std::max(bound.bytes_us, bound.flops_us);
  Cost sure = costs.sure;
  sure.bytes_read += again;
  const Worked surely = Work(sure, saved, bound.terms);
  bound.terms.spared_bytes = std::max(0.0, cost.bytes() - sure.bytes());
  bound.terms.spared_flops = std::max(0.0, bound.flops - surely.flops);
  bound.sure_us = std::min(bound.us, std::max(Move(sure, machine).us(), surely.us));
  bound.datasheet = machine.ceilings.source == Ceilings::Source::kDatasheet;
  bound.limited_by = bound.bytes_us >= bound.flops_us ? "memory" : "arithmetic";
  bound.why = fmt::format(
      "Reading {:.3g} MB and writing {:.3g} MB takes {:.3g} us at {:.1f} GB/s, {}. ", cost.bytes_read / 1e6,
      cost.bytes_written / 1e6, bound.bytes_us, bound.bytes_us > 0 ? bound.bytes / bound.bytes_us / 1e3 : copy / 1e9,
      bound.datasheet ? "the memory bandwidth of the datasheet" : "the bandwidth of a working set of that size");
  if (peak <= 0 && worked.wide() > 0) {
    bound.why += fmt::format("{:.3g} MFLOP take less in f32 already.", worked.wide() / 1e6);
  } else {
    bound.why += fmt::format("{:.3g} MFLOP take {:.3g} us", bound.flops / 1e6, bound.flops_us);
    const char* join = "";
    const auto at = [&](double flops, const UsedCeiling& ceiling) {
      bound.why += fmt::format("{} at {:.1f} GFLOP/s, the multiply-add ceiling in {}{}", join, ceiling.per_second / 1e9,
                               ceiling.of, bound.datasheet ? " of the datasheet" : "");
      if (flops < bound.flops) bound.why += fmt::format(" ({:.3g} of them)", flops / 1e6);
      join = ",";
    };
    if (worked.wholes8 > 0) at(worked.wholes8, bound.terms.wholes8.at);
    if (worked.reals8 > 0) at(worked.reals8, bound.terms.reals8.at);
    if (worked.wide() > 0 || bound.flops <= 0) at(worked.wide(), bound.terms.arithmetic);
    bound.why += ".";
  }
  if (saved > 0) bound.why += fmt::format(" The graph as it is written needs {:.3g} MFLOP more.", saved / 1e6);
  if (sure.bytes() < cost.bytes()) {
    bound.why += fmt::format(" Data decide how much of it is read: {:.3g} MB may be spared, which leaves {:.3g} us.",
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
  const Worked worked = Work(cost, 0, of_graph.terms);
  alone.flops_us = worked.us;
  // As of the whole graph: where those of f32 are quick enough, faster ones change nothing.
  const double single = machine.ceilings.fma_flops_f32;
  alone.known = peak > 0 || worked.wide() <= alone.bytes_us / 1e6 * single;
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
