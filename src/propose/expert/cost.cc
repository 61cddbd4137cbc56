#include "propose/expert/cost.h"

#include <algorithm>

#include "dsl/family.h"

namespace hone::expert {
namespace {

// Without a calibration, so that the ranking still makes sense: figures of a small server core, and of a Hopper device
// (an H200 copies 4.3 TB/s and multiplies 320 TFLOP/s as accurately as FP32, docs/measured/cuda_kernelbench.md).
struct Assumed {
  double bandwidth, flops;
};
constexpr Assumed kAssumedHost = {10e9, 50e9}, kAssumedDevice = {4e12, 300e12};

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
  const Assumed& assumed = machine.cuda ? kAssumedDevice : kAssumedHost;
  std::vector<double> times;
  for (const auto& kernel : program.kernels) {
    const auto& target = program.buffers[static_cast<std::size_t>(kernel.target)];
    double bytes = static_cast<double>(ElementCount(target.shape)) * static_cast<double>(Bytes(target.dtype));
    for (const auto& operand : kernel.operands) bytes += OperandBytes(program, kernel, operand);
    const double bandwidth =
        machine.bandwidth.empty() ? assumed.bandwidth : machine.CopyBandwidth(static_cast<std::int64_t>(bytes));
    const double peak = machine.fma_flops_f32 > 0 ? machine.fma_flops_f32 : assumed.flops;
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
