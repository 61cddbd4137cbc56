#include "dsl/once.h"

#include "dsl/family.h"

namespace hone::dsl {

bool IsMadeOnce(const KernelProgram& program, const Kernel& kernel) {
  const auto buffer = [&](int b) -> const KernelBuffer& { return program.buffers[static_cast<std::size_t>(b)]; };
  if (kernel.device->kind != DeviceKind::kCuda || kernel.family->name != "map" || kernel.operands.size() != 1 ||
      !kernel.also.empty() || kernel.epilogue->kind != Expr::Kind::kLoad)
    return false;
  const KernelBuffer &from = buffer(kernel.operands[0].buffer), &to = buffer(kernel.target);
  return from.home == KernelBuffer::Home::kParameter && to.home == KernelBuffer::Home::kIntermediate &&
         IsFloat(from.dtype) && IsFloat(to.dtype) && Bytes(to.dtype) < Bytes(from.dtype);
}

}  // namespace hone::dsl
