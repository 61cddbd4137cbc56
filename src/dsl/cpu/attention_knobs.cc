#include "dsl/cpu/attention_knobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "dsl/shape/window.h"

namespace hone::dsl {
namespace {

// Queries side by side: of a way that has them one by one, one.
std::int64_t LanesOf(const Kernel& kernel) {
  if (!kernel.settings.contains("micro")) return 1;
  const auto micro = TupleSetting(kernel, "micro");
  return micro.size() == 2 ? micro[1] : 64;
}

}  // namespace

std::vector<Setting> AttentionThreads(const Kernel& kernel) { return ThreadsFor(kernel, kernel.family->flops(kernel)); }

std::int64_t AttentionBlock(const Kernel& kernel, std::int64_t lanes, std::int64_t keys) {
  const std::size_t rank = kernel.space.size();
  std::int64_t widths = 0;
  for (const std::size_t from_end : {1, 3})
    widths += std::min(kernel.space[rank - from_end].extent, kMostAttentionBlock);
  // Queries, sums and scores; and copies of keys and values that are expressions.
  return widths * lanes + (widths + lanes) * std::min(keys, kernel.space[rank - 2].extent);
}

std::vector<Setting> AttentionKeysValues(const Kernel& kernel) {
  const std::int64_t lanes = LanesOf(kernel);
  std::vector<Setting> values;
  for (const std::int64_t keys : {128, 64, 256, 512, 16, 1}) {
    if (AttentionBlock(kernel, lanes, keys) <= kMostAttentionBlock || keys == 1) values.push_back(Whole(keys));
    if (keys == 16 && !values.empty()) break;
  }
  return values;
}
std::optional<std::string> CheckAttentionKeys(const Kernel& kernel, const Setting& value) {
  if (auto why = CheckRange(value, 1, 1 << 16)) return why;
  const std::int64_t keys = std::get<std::int64_t>(value.value);
  if (keys > 1 && AttentionBlock(kernel, LanesOf(kernel), keys) > kMostAttentionBlock)
    return fmt::format("scores of so many keys are a block on the stack, {} elements at most; try {}",
                       kMostAttentionBlock, std::max<std::int64_t>(1, keys / 2));
  return std::nullopt;
}

}  // namespace hone::dsl
