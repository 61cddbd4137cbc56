// One hone at a time measures on a device: of two that did, both would measure each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/build_cache.h"
#include "target/cuda/driver.h"

namespace hone::cuda {

// A device that is ours until this goes, or the process: a lock on devices/UUID in DataDirectory(). It holds back those
// who use the same folder.
struct LockedDevice {
  Device device;
  FileLock lock;
};

// Which of `here` are meant: "" for any one of them, "all", or UUIDs with commas between them, as `nvidia-smi -L` has
// them (the beginning of one is enough). kUsage with those that are here.
Result<std::vector<Device>> ChooseDevices(const std::vector<Device>& here, std::string_view wanted);

// Locks what ChooseDevices chooses of FindDevices: of "" the first that is free. Waits for others and says so through
// `say`, until `interrupted` says yes: then kInterrupted. kNotFound without a device. `meanwhile` is called
// before it waits for one, once each: what needs no device is done then.
Result<std::vector<LockedDevice>> LockDevices(
    std::string_view wanted, const std::function<void(std::string_view)>& say, const std::function<bool()>& interrupted,
    const std::function<void()>& meanwhile = [] {});

// Of one device, nothing if somebody else has it.
Result<std::optional<FileLock>> TryLock(const Device& device);

}  // namespace hone::cuda
