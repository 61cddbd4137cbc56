#include "propose/expert/cost.h"

#include <algorithm>

#include "dsl/family.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

// What ranks where nothing was measured: figures of a small server core, or a typical device's datasheet.
Ceilings Assumed(DeviceKind kind) {
  if (kind == DeviceKind::kCuda) return TypicalDevice().ceilings;
  return {.fma_flops_f32 = 50e9, .bandwidth = {{1 << 20, 10e9, 10e9}}};
}

double OperandBytes(const dsl::KernelProgram& program, const dsl::Kernel& kernel, const dsl::KernelOperand& operand) {
  double elements = 1;
  for (std::size_t d = 0; d < kernel.space.size() && d < operand.strides.size(); ++d) {
    if (operand.strides[d] != 0) elements *= static_cast<double>(kernel.space[d].extent);
  }
  const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
  return std::min(elements, static_cast<double>(ElementCount(buffer.shape))) * static_cast<double>(Bytes(buffer.dtype));
}

}  // namespace

std::vector<double> PredictKernels(const dsl::KernelProgram& program, const DeviceModel& machine) {
  const bool known = !machine.ceilings.bandwidth.empty() && machine.ceilings.fma_flops_f32 > 0;
  const Ceilings ceilings = known ? machine.ceilings : Assumed(machine.kind);
  std::vector<double> times;
  for (const auto& kernel : program.kernels) {
    const auto& target = program.buffers[static_cast<std::size_t>(kernel.target)];
    double bytes = static_cast<double>(ElementCount(target.shape)) * static_cast<double>(Bytes(target.dtype));
    for (const auto& operand : kernel.operands) bytes += OperandBytes(program, kernel, operand);
    const double bandwidth = ceilings.CopyBandwidth(static_cast<std::int64_t>(bytes));
    const double flops = kernel.family->flops ? kernel.family->flops(kernel) : 0;
    times.push_back(1e6 * std::max(bytes / bandwidth, flops / ceilings.fma_flops_f32) + ceilings.fork_join_us);
  }
  return times;
}

double Predict(const dsl::KernelProgram& program, const DeviceModel& machine) {
  double sum = 0;
  for (const double time : PredictKernels(program, machine)) sum += time;
  return sum;
}

}  // namespace hone::expert
