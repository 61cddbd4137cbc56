#include "oracle/device_reference.h"

#include "oracle/device_oracle.h"
#include "oracle/element_check.h"

namespace hone {
namespace {

Result<Expected> FromThere(cuda::Context& context, const DeviceExpected& there, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(double));
  Expected here{.value = std::vector<double>(size),
                .budget = std::vector<double>(size),
                .scale = std::vector<double>(size),
                .honest_ratio = there.honest_ratio,
                .whole = there.whole};
  HONE_TRY(FromDevice(context.CopyOut(here.value.data(), there.value.address(), bytes)));
  HONE_TRY(FromDevice(context.CopyOut(here.scale.data(), there.scale.address(), bytes)));
  HONE_TRY(FromDevice(context.Wait()));
  for (std::size_t i = 0; i < size; ++i) here.budget[i] = BudgetOf(there.factor, here.scale[i]);
  return here;
}

}  // namespace

Result<std::vector<Expected>> ComputeOnDevice(const Graph& graph, std::span<const void* const> inputs) {
  HONE_TRY(cuda::FindDevices());
  const auto context = HONE_TRY(FromDevice(cuda::Context::Open(0)));
  DeviceHeap heap(*context);
  const auto kernels = HONE_TRY(DeviceKernels::Load(*context, heap, {}));
  const auto oracle = HONE_TRY(DeviceOracle::Create(*kernels, graph));
  std::vector<DeviceArray> arrays;
  std::vector<cuda::Address> addresses;
  const auto tensors = graph.problem().Inputs();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    arrays.push_back(HONE_TRY(heap.Take(tensors[i]->bytes())));
    addresses.push_back(arrays.back().address());
    HONE_TRY(FromDevice(context->CopyIn(addresses.back(), inputs[i], tensors[i]->bytes())));
  }
  const auto there = HONE_TRY(oracle->Run(addresses));
  std::vector<Expected> here;
  const auto outputs = graph.problem().Outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o)
    here.push_back(HONE_TRY(FromThere(*context, there[o], ElementCount(outputs[o]->shape))));
  return here;
}

}  // namespace hone
