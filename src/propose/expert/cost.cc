#include "propose/expert/cost.h"

#include <algorithm>

#include "dsl/family.h"

namespace hone::expert {
namespace {

// Without a calibration: figures of a small server core, so that the ranking still makes sense.
constexpr double kAssumedBandwidth = 10e9, kAssumedFlops = 50e9;

double OperandBytes(const dsl::KernelProgram& program, const dsl::Kernel& kernel, const dsl::KernelOperand& operand) {
  double elements = 1;
  for (std::size_t d = 0; d < kernel.space.size() && d < operand.strides.size(); ++d) {
    if (operand.strides[d] != 0) elements *= static_cast<double>(kernel.space[d].extent);
  }
  const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
  return std::min(elements, static_cast<double>(ElementCount(buffer.shape))) * static_cast<double>(Bytes(buffer.dtype));
}

}  // namespace

std::vector<double> PredictKernels(const dsl::KernelProgram& program, const Machine& machine) {
  std::vector<double> times;
  for (const auto& kernel : program.kernels) {
    const auto& target = program.buffers[static_cast<std::size_t>(kernel.target)];
    double bytes = static_cast<double>(ElementCount(target.shape)) * static_cast<double>(Bytes(target.dtype));
    for (const auto& operand : kernel.operands) bytes += OperandBytes(program, kernel, operand);
    const double bandwidth =
        machine.bandwidth.empty() ? kAssumedBandwidth : machine.CopyBandwidth(static_cast<std::int64_t>(bytes));
    const double peak = machine.fma_flops_f32 > 0 ? machine.fma_flops_f32 : kAssumedFlops;
    const double flops = kernel.family->flops ? kernel.family->flops(kernel) : 0;
    times.push_back(1e6 * std::max(bytes / bandwidth, flops / peak) + machine.fork_join_us);
  }
  return times;
}

double Predict(const dsl::KernelProgram& program, const Machine& machine) {
  double sum = 0;
  for (const double time : PredictKernels(program, machine)) sum += time;
  return sum;
}

}  // namespace hone::expert
