#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dsl/cpu/attend.h"
#include "dsl/cpu/attention_knobs.h"
#include "dsl/shape/pages.h"
#include "dsl/way.h"

namespace hone::dsl::cpu_way_attention_lanes {
namespace {

std::optional<double> Cost(const Kernel&) { return 2; }

std::vector<Setting> MicroValues(const Kernel& kernel) {
  const std::int64_t m = kernel.space[kernel.space.size() - 4].extent;
  // Rows of K or V x queries in registers: as for matmul, and few queries in few lanes.
  std::vector<std::array<std::int64_t, 2>> blocks;
  if (kernel.device->vector_bytes >= 64) {
    blocks = {{6, 64}, {8, 48}, {12, 32}, {14, 16}, {4, 96}};
  } else {
    blocks = {{4, 24}, {6, 16}, {8, 8}};
  }
  std::erase_if(blocks, [&](const auto& block) { return AttentionBlock(kernel, block[1], 1) > kMostAttentionBlock; });
  if (blocks.empty()) blocks = {{8, 8}};
  // Lanes behind the last query are wasted; narrow blocks load more for each product.
  const auto cost = [&](const std::array<std::int64_t, 2>& block) {
    const double lanes = static_cast<double>((m + block[1] - 1) / block[1] * block[1]);
    return lanes * (1 + 0.5 / static_cast<double>(block[0]) + 6.0 / static_cast<double>(block[1]));
  };
  std::stable_sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  std::vector<Setting> values;
  for (const auto& block : blocks) values.push_back(Tuple({block[0], block[1]}));
  return values;
}
std::optional<std::string> CheckMicro(const Kernel& kernel, const Setting& value) {
  const auto* tuple = std::get_if<std::vector<std::int64_t>>(&value.value);
  if (!tuple || tuple->size() != 2) return "it is rows of K or V x queries; try 6x64";
  if ((*tuple)[0] < 1 || (*tuple)[0] > 32) return "the first goes from 1 to 32; try 8";
  if ((*tuple)[1] < 8 || (*tuple)[1] > 128 || (*tuple)[1] % 8 != 0) {
    return fmt::format("the second must be a multiple of 8 up to 128; try {}",
                       std::clamp<std::int64_t>(((*tuple)[1] + 7) / 8 * 8, 8, 128));
  }
  if ((*tuple)[1] > 8 && AttentionBlock(kernel, (*tuple)[1], 1) > kMostAttentionBlock)
    return fmt::format("queries of these widths are a block on the stack, {} elements at most; try fewer",
                       kMostAttentionBlock);
  return std::nullopt;
}

// In this order: a default may depend on those before it.
constexpr Knob kKnobs[] = {
    kAttentionThreadsKnob,
    kVectorKnob,
    {"micro", "rows of K or V x queries in registers; so many queries are a thread's block", MicroValues, CheckMicro},
    kAttentionKeysKnob,
};

}  // namespace

HONE_ROW(Way){
    .family = "attention",
    .name = "lanes",
    .doc = "a vector along queries",
    .why_not = CheckNoPages,
    .cost = Cost,
    .knobs = kKnobs,
    .emit_cpu = EmitAttentionLanes,
};

}  // namespace hone::dsl::cpu_way_attention_lanes
