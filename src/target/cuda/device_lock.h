// One hone at a time measures on a device: of two that did, both would measure each other. A lock on devices/UUID in
// DataDirectory() holds back those who use the same folder.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "target/build_cache.h"
#include "target/cuda/driver.h"

namespace hone::cuda {

// Which of `here` are meant: "" for any one of them, "all", or UUIDs with commas between them, as `nvidia-smi -L` has
// them (the beginning of one is enough). kUsage with those that are here.
Result<std::vector<Device>> ChooseDevices(const std::vector<Device>& here, std::string_view wanted);

// Of one device, nothing if somebody else has it.
Result<std::optional<FileLock>> TryLock(const Device& device);

// What is said when a device is waited for, and when it is ours after that: who started us does not count the seconds
// between.
std::string WaitingNote(const Device& device);
std::string OursNote(const Device& device, double waited_s);
bool SaysWaiting(std::string_view line);
bool SaysOurs(std::string_view line);

struct HoldHooks {
  std::function<void(std::string_view)> say = [](std::string_view) {};
  std::function<bool()> interrupted = [] { return false; };
  // Told when it begins to wait, and when it has ended to, whatever comes of it.
  std::function<void(bool waiting)> waiting = [](bool) {};
};

// Devices that are chosen when it is made and ours alone from Take to Release: between, and only then, we may have
// memory on them, start processes that do, and measure. So of many hones, each gets ready whatever needs no device and
// waits with that, and those who wait take nothing from the one who measures. Thread-safe.
class DeviceHold {
 public:
  // Of `here`, as ChooseDevices chooses. Of "" it is one: where several are here the first that is free, which is then
  // taken at once, or else the first.
  static Result<std::unique_ptr<DeviceHold>> Choose(const std::vector<Device>& here, std::string_view wanted,
                                                    HoldHooks hooks);
  DeviceHold(const DeviceHold&) = delete;
  DeviceHold& operator=(const DeviceHold&) = delete;

  const std::vector<Device>& devices() const { return devices_; }
  // All of them; blocks until nobody else has one. kInterrupted. Does nothing where they are ours.
  Result<void> Take();
  // The caller has nothing left on them.
  void Release();
  // Whether somebody waits for one of them.
  bool Wanted() const;

  double waited_s() const;  // so far, what is waited now included
  double held_s() const;    // likewise

 private:
  using Clock = std::chrono::steady_clock;
  struct Span {
    double before_s = 0;
    std::optional<Clock::time_point> since;
    void Begin() { since = Clock::now(); }
    void End();
    double Seconds() const;
  };
  DeviceHold(std::vector<Device> devices, HoldHooks hooks) : devices_(std::move(devices)), hooks_(std::move(hooks)) {}
  Result<FileLock> WaitFor(const Device& device);

  std::vector<Device> devices_;
  const HoldHooks hooks_;
  Mutex taking_;  // one takes, and others wait for it
  std::vector<FileLock> locks_ HONE_GUARDED_BY(taking_);
  mutable Mutex mutex_;
  Span waited_ HONE_GUARDED_BY(mutex_), held_ HONE_GUARDED_BY(mutex_);
};

// Chosen of FindDevices, and taken. kNotFound without a device.
Result<std::unique_ptr<DeviceHold>> LockDevices(std::string_view wanted, HoldHooks hooks);

}  // namespace hone::cuda
