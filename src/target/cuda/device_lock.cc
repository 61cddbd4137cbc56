#include "target/cuda/device_lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/files.h"

namespace hone::cuda {
namespace {

// Far below what anybody holds a device for; a look is two system calls.
constexpr auto kLook = std::chrono::milliseconds(10);
constexpr std::string_view kWaiting = "another hone is at work on ", kUntil = ": waiting until it is done";
constexpr std::string_view kOurs = " is ours after ";

std::string LockPath(const Device& device) { return DataDirectory() + "/devices/" + device.uuid; }
// Whoever waits for it has this one, too, beside all others who wait.
std::string WantedPath(const Device& device) { return LockPath(device) + ".wanted"; }

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
  HONE_TRY(MakeDirectories(DataDirectory() + "/devices"));
  return FileLock::TryAcquire(LockPath(device));
}

std::string WaitingNote(const Device& device) { return fmt::format("{}{}{}", kWaiting, Name(device), kUntil); }

std::string OursNote(const Device& device, double waited_s) {
  return fmt::format("{}{}{:.1f} s", Name(device), kOurs, waited_s);
}

bool SaysWaiting(std::string_view line) { return line.starts_with(kWaiting) && line.ends_with(kUntil); }

bool SaysOurs(std::string_view line) { return line.find(kOurs) != std::string_view::npos && line.ends_with(" s"); }

void DeviceHold::Span::End() {
  before_s = Seconds();
  since.reset();
}

double DeviceHold::Span::Seconds() const {
  return before_s + (since ? std::chrono::duration<double>(Clock::now() - *since).count() : 0);
}

Result<std::unique_ptr<DeviceHold>> DeviceHold::Choose(const std::vector<Device>& here, std::string_view wanted,
                                                       HoldHooks hooks) {
  std::vector<Device> devices = HONE_TRY(ChooseDevices(here, wanted));
  // All who want several take them in the same order, so that no two wait for each other.
  std::sort(devices.begin(), devices.end(), [](const Device& a, const Device& b) { return a.ordinal < b.ordinal; });
  if (!wanted.empty() || devices.size() <= 1)
    return std::unique_ptr<DeviceHold>(new DeviceHold(std::move(devices), std::move(hooks)));
  for (const Device& device : devices) {
    auto lock = HONE_TRY(TryLock(device));
    if (!lock) continue;
    if (device.uuid != devices.front().uuid)
      hooks.say(fmt::format("another hone is at work on {}: taking {}", Name(devices.front()), Name(device)));
    auto hold = std::unique_ptr<DeviceHold>(new DeviceHold({device}, std::move(hooks)));
    {
      const MutexLock taking(hold->taking_);
      hold->locks_.push_back(std::move(*lock));
    }
    const MutexLock counting(hold->mutex_);
    hold->held_.Begin();
    return hold;
  }
  devices.resize(1);
  return std::unique_ptr<DeviceHold>(new DeviceHold(std::move(devices), std::move(hooks)));
}

Result<FileLock> DeviceHold::WaitFor(const Device& device) {
  if (auto lock = HONE_TRY(TryLock(device))) return std::move(*lock);
  const FileLock wanted = HONE_TRY(FileLock::AcquireShared(WantedPath(device)));
  hooks_.say(WaitingNote(device));
  hooks_.waiting(true);
  double before_s = 0;
  {
    const MutexLock lock(mutex_);
    before_s = waited_.before_s;
    waited_.Begin();
  }
  const auto until_free = [&]() -> Result<FileLock> {
    for (;;) {
      if (hooks_.interrupted()) return Fail(ErrorKind::kInterrupted, "interrupted");
      std::this_thread::sleep_for(kLook);
      if (auto lock = HONE_TRY(TryLock(device))) return std::move(*lock);
    }
  };
  auto lock = until_free();
  double waited_s = 0;
  {
    const MutexLock counting(mutex_);
    waited_.End();
    waited_s = waited_.before_s - before_s;
  }
  hooks_.waiting(false);
  if (lock) hooks_.say(OursNote(device, waited_s));
  return lock;
}

Result<void> DeviceHold::Take() {
  const MutexLock taking(taking_);
  if (!locks_.empty()) return {};
  std::vector<FileLock> locks;
  for (const Device& device : devices_) locks.push_back(HONE_TRY(WaitFor(device)));
  locks_ = std::move(locks);
  const MutexLock counting(mutex_);
  held_.Begin();
  return {};
}

void DeviceHold::Release() {
  const MutexLock taking(taking_);
  if (locks_.empty()) return;
  locks_.clear();
  const MutexLock counting(mutex_);
  held_.End();
}

bool DeviceHold::Wanted() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const Device& device) {
    const auto lock = FileLock::TryAcquire(WantedPath(device));
    return lock && !*lock;
  });
}

double DeviceHold::waited_s() const {
  const MutexLock lock(mutex_);
  return waited_.Seconds();
}

double DeviceHold::held_s() const {
  const MutexLock lock(mutex_);
  return held_.Seconds();
}

Result<std::unique_ptr<DeviceHold>> LockDevices(std::string_view wanted, HoldHooks hooks) {
  auto hold = HONE_TRY(DeviceHold::Choose(HONE_TRY(FindDevices()), wanted, std::move(hooks)));
  HONE_TRY(hold->Take());
  return hold;
}

}  // namespace hone::cuda
