#include <algorithm>
#include <cmath>

#include "profile/kernel_facts.h"
#include "target/cuda/built_plan.h"

namespace hone {
namespace {

std::int64_t Product(const std::array<std::int64_t, 3>& extents) { return extents[0] * extents[1] * extents[2]; }

}  // namespace

void AddLaunchFacts(Profile& profile, const cuda::KernelFacts& kernel, const LaunchStep& launch,
                    const DeviceModel& device) {
  const auto set = [&](std::string_view name, double value) { profile.Set(name, value, FactSource::kLaunch); };
  const auto blocks = static_cast<double>(Product(launch.grid));
  const std::int64_t threads = Product(launch.block);
  set("blocks", blocks);
  set("block_threads", static_cast<double>(threads));
  set("cluster_blocks", static_cast<double>(Product(launch.cluster)));
  set("shared_bytes", static_cast<double>(launch.shared_bytes + kernel.static_shared_bytes));
  set("multiprocessors", device.multiprocessors);

  const auto& limits = device.limits;
  const cuda::Occupancy now = cuda::OccupancyOf(kernel, threads, launch.shared_bytes, limits);
  if (now.blocks <= 0 || device.multiprocessors <= 0) return;
  set("resident_blocks", now.blocks);
  set("occupancy", static_cast<double>(now.warps) / limits.warps);
  profile.SetWord("occupancy_limit", now.limit, FactSource::kLaunch);

  // One block more by fewer registers, or by less shared memory, alone.
  cuda::KernelFacts less = kernel;
  less.code.clear();
  while (less.registers > 8 && cuda::OccupancyOf(less, threads, launch.shared_bytes, limits).blocks <= now.blocks)
    less.registers = (less.registers - 1) / 8 * 8;  // they are given out eight at a time
  if (cuda::OccupancyOf(less, threads, launch.shared_bytes, limits).blocks > now.blocks)
    set("registers_to_gain", less.registers);
  if (now.by_shared == now.blocks && now.by_registers > now.blocks && now.by_warps > now.blocks &&
      now.by_blocks > now.blocks) {
    constexpr int kSharedUnit = 128;
    set("shared_to_gain",
        limits.shared_bytes / (now.blocks + 1) / kSharedUnit * kSharedUnit - limits.reserved_shared_bytes);
  }

  const double at_once = static_cast<double>(now.blocks) * device.multiprocessors, waves = blocks / at_once;
  set("waves", waves);
  set("tail_share", 1 - waves / std::ceil(waves));
  set("busy_multiprocessors", std::min(1.0, blocks / device.multiprocessors));
}

}  // namespace hone
