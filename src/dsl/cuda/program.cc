// A checked program as a plan for a CUDA device: its kernels' sources and launches, one after the other.
#include "candidate/plan.h"
#include "dsl/cuda/channels_last.h"
#include "dsl/cuda/writer.h"
#include "dsl/once.h"
#include "dsl/products_apart.h"
#include "dsl/way.h"

namespace hone::dsl {

Plan EmitCuda(const KernelProgram& given) {
  const KernelProgram program = WithMadeOnce(SplitChannelsLast(WithoutEmpty(ProductsApart(given))));
  DeviceWriter writer(program);
  for (std::size_t first = 0; first < program.kernels.size();) {
    const Kernel& kernel = program.kernels[first];
    writer.Begin(kernel);
    kernel.way->emit_cuda(program, kernel, writer);
    first = SequenceEnd(program, first);
  }
  return writer.Finish();
}

}  // namespace hone::dsl
