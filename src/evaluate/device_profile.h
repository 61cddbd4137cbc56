// What a plan does on a device: a process of its own runs it (profiled_process.h), and CUPTI counts, or NVIDIA's ncu
// watches. Nothing of that decides whether a candidate is right or fast.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evaluate/profiled_process.h"
#include "problem/problem.h"
#include "profile/profile.h"
#include "protocol/profiled.h"
#include "target/cuda/built_plan.h"
#include "target/device_model.h"

namespace hone {

// "2025.3.1". Of the first toolkit that has one (target/cuda/toolkit.h).
Result<std::string> NcuVersion();

// How ncu comes by several passes: kernels run again by themselves, which is quick, or the whole process does, in which
// caches are as CUPTI finds them.
enum class NcuReplay : std::uint8_t { kKernel, kProcess };

// What a kernel finds in the second-level cache when it is counted.
enum class Caches : std::uint8_t {
  kWarm,   // what the kernels before it left, as in a run
  kClean,  // nothing of the candidate's, and nothing that has yet to be written
};
std::optional<Caches> ParseCaches(std::string_view name);  // "warm"

struct ProfileWish {
  CounterSet set = CounterSet::kStandard;
  Caches caches = Caches::kWarm;
  bool samples = false;  // where warps wait
};

// Profiles plans for one problem, which outlives it. Not thread-safe.
class DeviceProfiler {
 public:
  struct Options {
    std::string program = {};  // that has the verb "profiled"; empty = this one
    std::string device = {};   // UUID; empty = the first
    std::string arch = {};     // of the device, "sm_90a"; for clean caches
    std::chrono::milliseconds wall{120'000};
  };
  DeviceProfiler(const Problem& problem, Options options);
  ~DeviceProfiler();

  // By CUPTI: counters and timeline, each with the reason where there is none. The process that runs the plan is kept
  // for the next. Fails where there is no CUPTI, or when that process ends badly; the message says how.
  Result<ProfiledReport> ByCupti(const cuda::BuiltPlan& plan, const ProfileWish& wish);
  // The same of a module of CUDA C++, the path of whose shared object is `library`, in another process, which is
  // confined. Clean caches are clean for the first of its kernels. kNotFound where bubblewrap does not work.
  Result<ProfiledReport> ModuleByCupti(const std::string& library, const ProfileWish& wish);

  // By ncu, without samples, in a process of its own, with its report, which is kept in `report_file` (.ncu-rep). It
  // has no timeline.
  Result<ProfiledReport> ByNcu(const cuda::BuiltPlan& plan, const ProfileWish& wish, NcuReplay replay,
                               const std::string& report_file);

 private:
  struct Held;
  Result<ProfiledReport> Ask(Form form, const std::string& built, const ProfileWish& wish);
  Result<Held*> Hold(Form form);
  const Problem& problem_;
  Options options_;
  std::map<Form, std::unique_ptr<Held>> held_;
};

// The same of what ncu prints: `ncu --import FILE --csv --page raw`. kCorrupt says what it lacks.
Result<ProfiledReport> ReadNcuTable(const std::string& csv, std::span<const std::string> metrics);

// Adds what was counted and recorded to the plan's profiles, which are of ProfilesOf (profile/collect.h). A library's
// step gets a profile for each of its kernels.
void AddMeasured(std::vector<Profile>& profiles, const ProfiledReport& report, const cuda::BuiltPlan& plan,
                 const Problem& problem, const DeviceModel& device);

}  // namespace hone
