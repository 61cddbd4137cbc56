#include "propose/expert/cost.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "dsl/cuda/channels_last.h"
#include "dsl/family.h"
#include "dsl/once.h"
#include "dsl/shape/matmul_shape.h"
#include "dsl/way.h"
#include "expr/ranged_fold.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

// What ranks where nothing was measured: figures of a small server core, or a typical device's datasheet.
Ceilings Assumed(DeviceKind kind) {
  if (kind == DeviceKind::kCuda) return TypicalDevice().ceilings;
  return {.fma_flops_f32 = 50e9, .bandwidth = {{1 << 20, 10e9, 10e9}}};
}

// Of an operand of a nest, whose strides are not those of the space: as many as there are of the indices that say
// which, in the load that has most.
double ElementsOfNest(const dsl::Kernel& kernel, const dsl::KernelOperand& operand) {
  double most = 0;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad || &kernel.operands[static_cast<std::size_t>(node.buffer)] != &operand) return;
    std::map<int, std::int64_t> extents;
    for (const Expr& index : node.operands) {
      Visit(index, [&](const ExprNode& one) {
        if (one.kind == Expr::Kind::kIndex) extents[one.index.id] = one.index.extent;
      });
    }
    double elements = 1;
    for (const auto& [id, extent] : extents) elements *= static_cast<double>(extent);
    most = std::max(most, elements);
  });
  return most;
}

double OperandBytes(const dsl::KernelProgram& program, const dsl::Kernel& kernel, const dsl::KernelOperand& operand) {
  double elements = 1;
  if (kernel.family->takes_indices) {
    elements = ElementsOfNest(kernel, operand);
  } else {
    for (std::size_t d = 0; d < kernel.space.size() && d < operand.strides.size(); ++d) {
      if (operand.strides[d] != 0) elements *= static_cast<double>(kernel.space[d].extent);
    }
  }
  const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
  return std::min(elements, static_cast<double>(ElementCount(buffer.shape))) * static_cast<double>(Bytes(buffer.dtype));
}

// What a kernel takes at least that others wait for: of 1020 of networks 1 % took less (docs/measured/cuda_layers.md).
constexpr double kLeastOnDevice = 1.3;  // us

// Operands that a product packs before: all but parameters, which are once for all runs.
std::vector<const dsl::KernelOperand*> PackedOperands(const dsl::KernelProgram& program, const dsl::Kernel& kernel) {
  std::vector<const dsl::KernelOperand*> packed;
  if (kernel.way == nullptr || kernel.way->packs == nullptr) return packed;
  std::vector<Expr> inputs;
  for (const std::size_t input : kernel.way->packs(kernel)) inputs.push_back(dsl::InputOf(kernel, input));
  for (const int o : dsl::OperandsOf(inputs)) {
    const dsl::KernelOperand& operand = kernel.operands[static_cast<std::size_t>(o)];
    const auto home = program.buffers[static_cast<std::size_t>(operand.buffer)].home;
    if (home != dsl::KernelBuffer::Home::kParameter) packed.push_back(&operand);
  }
  return packed;
}

// What is packed is written and read: of f32, as two halves.
double PackedBytes(const dsl::KernelProgram& program, const dsl::Kernel& kernel) {
  double bytes = 0;
  for (const auto* operand : PackedOperands(program, kernel)) bytes += 2 * OperandBytes(program, kernel, *operand);
  return bytes;
}

// What its launches take at least.
double LeastOf(const dsl::KernelProgram& program, const dsl::Kernel& kernel, const DeviceModel& machine) {
  if (machine.kind != DeviceKind::kCuda) return 0;
  const double own = std::max(kLeastOnDevice, kernel.way != nullptr ? kernel.way->least_us : 0);
  return own + kLeastOnDevice * static_cast<double>(PackedOperands(program, kernel).size());
}

// What folds read of rows that data choose, beside each element once: each time anew, of what no cache holds.
double LookedUpBytes(const dsl::KernelProgram& program, const dsl::Kernel& kernel, const DeviceModel& machine) {
  if (!kernel.family->takes_indices) return 0;
  double bytes = 0;
  const std::function<void(const Expr&, double, bool)> walk = [&](const Expr& e, double times, bool folded) {
    if (e->kind == Expr::Kind::kReduce) {
      for (const IndexVar& over : e->over) times *= static_cast<double>(over.extent);
      if (const auto ranged = RangedFoldOf(*e)) times /= Segments(*ranged);
      folded = true;
    }
    if (e->kind == Expr::Kind::kLoad && folded && std::ranges::any_of(e->operands, HasLoad)) {
      const dsl::KernelOperand& operand = kernel.operands[static_cast<std::size_t>(e->buffer)];
      const auto& read = program.buffers[static_cast<std::size_t>(operand.buffer)];
      const auto each = static_cast<std::int64_t>(Bytes(read.dtype));
      const double again = times * static_cast<double>(each) - OperandBytes(program, kernel, operand);
      if (ElementCount(read.shape) * each > machine.l2_bytes) bytes += std::max(again, 0.0);
    }
    for (const Expr& operand : e->operands) walk(operand, times, folded);
  };
  walk(kernel.epilogue, dsl::LooksOf(kernel), false);
  return bytes;
}

// Of pixels that a kernel reads side by side where they lie a pixel's channels apart, as tensor cores leave them:
// threads of pools and nests each read a sector for two bytes of it, and maps go through shared memory.
double AcrossBytes(const dsl::KernelProgram& program, const dsl::Kernel& kernel) {
  constexpr double kMapReads = 1.5, kOthersRead = 8;  // times as long: docs/measured/cuda_layers.md
  const bool maps = kernel.family->name == "map";
  if (!maps && kernel.family->name != "pool" && kernel.family->name != "nest") return 0;
  // Neighbouring threads have neighbours of the result.
  std::size_t along = kernel.space.size();
  for (const int d : dsl::ResultDims(kernel)) {
    if (kernel.space[static_cast<std::size_t>(d)].extent > 1) along = static_cast<std::size_t>(d);
  }
  double bytes = 0;
  for (const auto& operand : kernel.operands) {
    if (along >= operand.strides.size() || operand.strides[along] != 1) continue;
    const bool last = std::ranges::any_of(program.kernels, [&](const dsl::Kernel& maker) {
      return maker.target == operand.buffer && dsl::MakesChannelsLast(maker) && maker.result.size() > 1 &&
             maker.result[1] > 1;
    });
    const auto home = program.buffers[static_cast<std::size_t>(operand.buffer)].home;
    if (!last || home != dsl::KernelBuffer::Home::kIntermediate) continue;
    bytes += ((maps ? kMapReads : kOthersRead) - 1) * OperandBytes(program, kernel, operand);
  }
  return bytes;
}

// Folds of products as they are written, a thread an element, read their operands from L2 and take their time.
constexpr double kNestsAreSlower = 8;

// The units for products that a way has whose family does not say so, by their name among the ceilings.
std::string UnitsOf(const dsl::Kernel& kernel) {
  if (kernel.inputs.empty() || kernel.inputs[0]->kind != Expr::Kind::kLoad) return std::string(Name(DType::kBF16));
  const DType type = dsl::InputType(kernel, 0);
  const auto precision = kernel.settings.find("precision");
  return type == DType::kF32 && precision != kernel.settings.end() ? dsl::ToString(precision->second)
                                                                   : std::string(Name(type));
}

// Whether a fold reads all that it reads again for others of its results, as products of matrices do.
bool ReadsAgain(const dsl::Kernel& kernel) {
  if (!kernel.family->takes_axes || kernel.inputs.empty()) return false;
  const auto operands = dsl::OperandsOf(kernel.inputs);
  return operands.size() > 1 && std::ranges::all_of(operands, [&](int o) {
           const auto& strides = kernel.operands[static_cast<std::size_t>(o)].strides;
           for (std::size_t d = 0; d < strides.size(); ++d) {
             const bool kept = std::ranges::find(kernel.axes, static_cast<int>(d)) == kernel.axes.end();
             if (kept && strides[d] == 0 && kernel.space[d].extent > 1) return true;
           }
           return false;
         });
}

// How much of the tiles of a product's blocks is the result: of four rows an eighth is where a tile has 32.
double FilledOf(const dsl::Kernel& kernel) {
  const auto tile = dsl::TupleSetting(kernel, "tile");
  if (tile.size() != 2) return 1;
  const dsl::MatmulShape shape(kernel);
  const auto filled = [](std::int64_t extent, std::int64_t edge) {
    return extent == 0 ? 1 : static_cast<double>(extent) / static_cast<double>((extent + edge - 1) / edge * edge);
  };
  return filled(shape.m.extent, tile[0]) * filled(shape.n.extent, tile[1]);
}

// Products of f32 whose operands become halves where they are multiplied (docs/measured/cuda_matmul.md).
constexpr double kHalvesAreSlower = 1.6;
bool MakesHalves(const dsl::Kernel& kernel) {
  const auto halves = kernel.settings.find("halves");
  return halves != kernel.settings.end() && dsl::ToString(halves->second) != "before";
}

// FLOP/s that the kernel can have: of the units for products of 16 bits, where it has them.
double RateOf(const dsl::Kernel& kernel, const Ceilings& ceilings) {
  const double rate = ceilings.fma_flops_f32 / (MakesHalves(kernel) ? kHalvesAreSlower : 1);
  if (kernel.device->kind == DeviceKind::kCuda && ceilings.vector_flops_f32 > 0) {
    if (kernel.way != nullptr && kernel.way->name == "simt") return ceilings.vector_flops_f32 * FilledOf(kernel);
    if (!kernel.family->multiplies && ReadsAgain(kernel)) return rate / kNestsAreSlower;
  }
  if (kernel.family->multiplies) {
    const auto type_of = [&](std::size_t input) {
      return kernel.operand_types[static_cast<std::size_t>(std::max(kernel.inputs[input]->buffer, 0))];
    };
    const DType type = type_of(0);
    // A half times a float is a product of floats.
    if (kernel.inputs.size() > 1 && Bytes(type) <= 2 && type_of(1) == DType::kF32) return rate;
    // Of numbers of 8 bits the units make twice as many products as of 16.
    const bool eight = Bytes(type) == 1 && kernel.device->kind == DeviceKind::kCuda,
               as_halves = kernel.way != nullptr && kernel.way->name == "f16";
    const auto units = ceilings.matmul_flops.find(std::string(Name(eight ? DType::kBF16 : type)));
    if (!(IsSmallFloat(type) || eight) || units == ceilings.matmul_flops.end()) return rate;
    return std::max(rate, (eight && !as_halves ? 2 : 1) * units->second);
  }
  if (kernel.way != nullptr && kernel.way->multiplies) {
    const auto units = ceilings.matmul_flops.find(UnitsOf(kernel));
    return units == ceilings.matmul_flops.end() ? rate : std::max(rate, units->second);
  }
  if (!kernel.family->takes_indices || kernel.device->kind == DeviceKind::kCpu) return rate;
  bool sums_products = false;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    sums_products |= node.kind == Expr::Kind::kReduce && node.reduce == ReduceOp::kSum &&
                     node.operands[0]->kind == Expr::Kind::kBinary && node.operands[0]->binary == BinaryOp::kMul;
  });
  return sums_products ? rate / kNestsAreSlower : rate;
}

}  // namespace

std::vector<double> PredictKernels(const dsl::KernelProgram& program, const DeviceModel& machine) {
  const bool known = !machine.ceilings.bandwidth.empty() && machine.ceilings.fma_flops_f32 > 0;
  const Ceilings ceilings = known ? machine.ceilings : Assumed(machine.kind);
  std::vector<double> times;
  const std::vector<bool> once = dsl::MadeOnce(program);
  for (std::size_t k = 0; k < once.size(); ++k) {
    const dsl::Kernel& kernel = program.kernels[k];
    if (once[k]) {
      times.push_back(0);
      continue;
    }
    double bytes = 0;
    for (const int made : dsl::TargetsOf(kernel)) {
      const auto& target = program.buffers[static_cast<std::size_t>(made)];
      bytes += static_cast<double>(ElementCount(target.shape)) * static_cast<double>(Bytes(target.dtype));
    }
    for (const auto& operand : kernel.operands) bytes += OperandBytes(program, kernel, operand);
    if (kernel.way != nullptr && kernel.way->bytes_beside) bytes += kernel.way->bytes_beside(program, kernel);
    bytes += PackedBytes(program, kernel) + LookedUpBytes(program, kernel, machine) + AcrossBytes(program, kernel);
    const double bandwidth = ceilings.CopyBandwidth(static_cast<std::int64_t>(bytes));
    const double flops = kernel.family->flops ? kernel.family->flops(kernel) : 0;
    const double work = 1e6 * std::max(bytes / bandwidth, flops / RateOf(kernel, ceilings)) + ceilings.fork_join_us;
    times.push_back(std::max(work, LeastOf(program, kernel, machine)));
  }
  return times;
}

double Predict(const dsl::KernelProgram& program, const DeviceModel& machine) {
  double sum = 0;
  for (const double time : PredictKernels(program, machine)) sum += time;
  // In fewer digits: sums of the same times in another order are a tie, in which the more fused program is first.
  return static_cast<float>(sum);
}

}  // namespace hone::expert
