#include "dsl/once.h"

#include <algorithm>
#include <set>

#include "problem/problem.h"

namespace hone::dsl {
namespace {

// Positions, angles and masks grow by far out of the little that says them, and every layer reads the same. Weights of
// few bits are kept as they are: who has them so has them for the memory's sake.
constexpr double kTableBytes = 1 << 21;

double BytesOf(const KernelBuffer& buffer) {
  return static_cast<double>(ElementCount(buffer.shape)) * static_cast<double>(Bytes(buffer.dtype));
}

class Finder {
 public:
  explicit Finder(const KernelProgram& program) : program_(program), once_(program.kernels.size(), true) {}

  std::vector<bool> Find() && {
    if (program_.device->kind != DeviceKind::kCuda) return std::vector<bool>(once_.size(), false);
    while (!Settle()) {
    }
    return std::move(once_);
  }

 private:
  const KernelBuffer& buffer(int b) const { return program_.buffers[static_cast<std::size_t>(b)]; }

  // Takes out what cannot be once, as things stand; whether all could.
  bool Settle() {
    bool all = true;
    for (std::size_t k = 0; k < once_.size(); ++k) {
      if (!once_[k] || CanBe(program_.kernels[k])) continue;
      once_[k] = all = false;
      for (const int target : TargetsOf(program_.kernels[k])) runs_.insert(target);
    }
    return all;
  }

  bool CanBe(const Kernel& kernel) const {
    if (kernel.attributes.contains("sequence")) return false;
    double made = 0, of = 0;
    for (const int target : TargetsOf(kernel)) {
      if (buffer(target).home != KernelBuffer::Home::kIntermediate || runs_.contains(target)) return false;
      made += BytesOf(buffer(target));
    }
    std::set<int> read;
    for (const KernelOperand& operand : kernel.operands) read.insert(operand.buffer);
    for (const int b : read) {
      if (buffer(b).home == KernelBuffer::Home::kInput || buffer(b).home == KernelBuffer::Home::kOutput ||
          runs_.contains(b))
        return false;
      of += BytesOf(buffer(b));
    }
    return kernel.attributes.contains(kPrepared) || made <= std::max(of, kTableBytes);
  }

  const KernelProgram& program_;
  std::vector<bool> once_;
  std::set<int> runs_;  // buffers that something on every run writes
};

}  // namespace

std::vector<bool> MadeOnce(const KernelProgram& program) { return Finder(program).Find(); }

KernelProgram WithMadeOnce(KernelProgram program) {
  const std::vector<bool> once = MadeOnce(program);
  for (std::size_t k = 0; k < once.size(); ++k) {
    if (!once[k]) continue;
    program.kernels[k].attributes[kPrepared] = {1};
    for (const int target : TargetsOf(program.kernels[k]))
      program.buffers[static_cast<std::size_t>(target)].fixed = true;
  }
  return program;
}

}  // namespace hone::dsl
