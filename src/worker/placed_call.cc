#include "worker/placed_call.h"

#include "worker/loaded_module.h"

namespace hone {

PlacedCall::PlacedCall(const std::vector<Placed>& placed, void* stream) {
  for (const auto& [tensor, at, gap] : placed) {
    const int which = tensor->role == Role::kInput ? 0 : tensor->role == Role::kParameter ? 1 : 2;
    views_[which].push_back(ViewOf(*tensor, reinterpret_cast<void*>(at), kDLCUDA));
  }
  call = {.inputs = views_[0].data(),
          .input_count = static_cast<std::int32_t>(views_[0].size()),
          .parameters = views_[1].data(),
          .parameter_count = static_cast<std::int32_t>(views_[1].size()),
          .outputs = views_[2].data(),
          .output_count = static_cast<std::int32_t>(views_[2].size()),
          .threads = 1,
          .state = nullptr,
          .stream = stream};
}

}  // namespace hone
