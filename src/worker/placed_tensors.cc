#include "worker/placed_tensors.h"

#include <algorithm>
#include <cstddef>

#include "problem/generate.h"
#include "target/cuda/try.h"

namespace hone {
namespace {

constexpr std::int64_t kGapBytes = 4 << 20;

}  // namespace

Result<std::vector<Placed>> PlaceTensors(cuda::Context& context, const Problem& problem) {
  std::vector<Placed> placed;
  const auto gap = [&] { return FromDevice(context.Allocate(kGapBytes)); };
  const auto inputs = problem.Inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto at = HONE_TRY(FromDevice(context.Allocate(inputs[i]->bytes())));
    std::vector<std::byte> data(static_cast<std::size_t>(inputs[i]->bytes()));
    HONE_TRY(Fill(*inputs[i], 1, i, {}, data.data(), problem.folder));
    HONE_TRY(FromDevice(context.CopyIn(at, data.data(), inputs[i]->bytes())));
    HONE_TRY(FromDevice(context.Wait()));
    placed.push_back({inputs[i], at, HONE_TRY(gap())});
  }
  for (const Tensor* output : problem.Outputs()) {
    const auto updated =
        std::ranges::find_if(placed, [&](const Placed& p) { return p.tensor->name == output->updates; });
    if (updated != placed.end()) {
      placed.push_back({output, updated->at, HONE_TRY(gap())});
      continue;
    }
    const auto at = HONE_TRY(FromDevice(context.Allocate(output->bytes())));
    placed.push_back({output, at, HONE_TRY(gap())});
  }
  return placed;
}

void OpenGaps(cuda::Context& context, const std::vector<Placed>& placed) {
  for (const Placed& one : placed) context.Free(one.gap);
}

std::vector<cuda::LoadedPlan::Binding> BindingsOf(const std::vector<Placed>& placed, bool parameters_alone) {
  std::vector<cuda::LoadedPlan::Binding> bindings;
  for (const auto& [tensor, at, gap] : placed) {
    if (!parameters_alone || tensor->role == Role::kParameter)
      bindings.push_back({tensor->name, at, tensor->bytes(), tensor->dtype});
  }
  return bindings;
}

}  // namespace hone
