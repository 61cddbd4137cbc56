#include "target/cuda/device_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/files.h"

namespace hone::cuda {
namespace {

constexpr auto kLook = std::chrono::milliseconds(100);

std::string Name(const Device& device) { return fmt::format("{} ({})", device.uuid, device.model.processor); }

}  // namespace

Result<std::vector<Device>> ChooseDevices(const std::vector<Device>& here, std::string_view wanted) {
  if (wanted.empty() || wanted == "all") return here;
  std::vector<Device> chosen;
  while (!wanted.empty()) {
    const auto comma = wanted.find(',');
    const std::string_view one = wanted.substr(0, comma);
    wanted = comma == std::string_view::npos ? std::string_view() : wanted.substr(comma + 1);
    const auto is_meant = [&](const Device& device) { return device.uuid.starts_with(one); };
    const auto found = std::find_if(here.begin(), here.end(), is_meant);
    if (one.empty() || found == here.end() || std::count_if(here.begin(), here.end(), is_meant) > 1) {
      std::string known;
      for (const Device& device : here) known += (known.empty() ? "" : ", ") + Name(device);
      return Fail(ErrorKind::kUsage, fmt::format("--devices: '{}' is not one device; here are {}", one, known));
    }
    const auto same = [&](const Device& device) { return device.uuid == found->uuid; };
    if (std::none_of(chosen.begin(), chosen.end(), same)) chosen.push_back(*found);
  }
  return chosen;
}

Result<std::optional<FileLock>> TryLock(const Device& device) {
  const std::string folder = DataDirectory() + "/devices";
  HONE_TRY(MakeDirectories(folder));
  return FileLock::TryAcquire(folder + "/" + device.uuid);
}

Result<std::vector<LockedDevice>> LockDevices(std::string_view wanted, const std::function<void(std::string_view)>& say,
                                              const std::function<bool()>& interrupted,
                                              const std::function<void()>& meanwhile) {
  const auto here = HONE_TRY(FindDevices());
  const auto devices = HONE_TRY(ChooseDevices(here, wanted));
  const std::size_t count = wanted.empty() ? 1 : devices.size();
  // All who want several take them in the same order, so that no two wait for each other.
  std::vector<const Device*> order;
  for (const Device& device : devices) order.push_back(&device);
  std::sort(order.begin(), order.end(), [](const Device* a, const Device* b) { return a->ordinal < b->ordinal; });
  std::vector<LockedDevice> locked;
  if (wanted.empty()) {
    for (const Device* device : order) {
      auto lock = HONE_TRY(TryLock(*device));
      if (!lock) continue;
      if (device != order.front())
        say(fmt::format("another hone is at work on {}: taking {}", Name(*order.front()), Name(*device)));
      locked.push_back({*device, std::move(*lock)});
      return locked;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    for (bool said = false;; said = true) {
      auto lock = HONE_TRY(TryLock(*order[i]));
      if (lock) {
        locked.push_back({*order[i], std::move(*lock)});
        break;
      }
      if (!said) {
        say(fmt::format("another hone is at work on {}: waiting until it is done", Name(*order[i])));
        meanwhile();
      }
      if (interrupted()) return Fail(ErrorKind::kInterrupted, "interrupted");
      std::this_thread::sleep_for(kLook);
    }
  }
  return locked;
}

}  // namespace hone::cuda
