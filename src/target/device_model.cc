#include "target/device_model.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/files.h"
#include "base/json_text.h"
#include "base/record.h"
#include "base/sha256.h"

namespace hone {

template <SameAs<BandwidthPoint> Of>
void Fields(Of& point, auto&& field) {
  field("working_set_bytes", point.working_set_bytes);
  field("copy_bytes_per_second", point.copy_bytes_per_second);
  field("read_bytes_per_second", point.read_bytes_per_second);
}

template <SameAs<Ceilings> Of>
void Fields(Of& ceilings, auto&& field) {
  field("fma_flops_f32", ceilings.fma_flops_f32);
  field("fma_flops_f64", ceilings.fma_flops_f64);
  field("fork_join_us", ceilings.fork_join_us);
  field("bandwidth", ceilings.bandwidth);
  field("matmul_flops", ceilings.matmul_flops, kIfAny);
  field("vector_flops_f32", ceilings.vector_flops_f32);
  field("stream_launch_us", ceilings.stream_launch_us);
  field("energy_tick_ms", ceilings.energy_tick_ms);
  field("idle_watts", ceilings.idle_watts);
  field("measured_on", ceilings.measured_on);
  field("compiler", ceilings.compiler);
}

namespace {

constexpr int kSchema = 1;

// The first line of a small system file, or "".
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "48K", "2048K", "32M" as sysfs writes them.
std::int64_t ParseSize(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  if (end != text.data() + text.size() && *end == 'K') return value << 10;
  if (end != text.data() + text.size() && *end == 'M') return value << 20;
  return value;
}

std::vector<int> AffinityMask() {
  // Machines with more processors than a cpu_set_t has bits need a larger one.
  for (std::size_t bits = 1024; bits <= (1u << 20); bits *= 4) {
    std::vector<int> cpus;
    cpu_set_t* set = CPU_ALLOC(bits);
    const bool ok = set != nullptr && sched_getaffinity(0, CPU_ALLOC_SIZE(bits), set) == 0;
    for (std::size_t cpu = 0; ok && cpu < bits; ++cpu) {
      if (CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(bits), set)) cpus.push_back(static_cast<int>(cpu));
    }
    CPU_FREE(set);
    if (ok) return cpus;
  }
  return {0};
}

// Processors' worth of time that our control group may use; 0 = no limit.
double Quota() {
  // In a container its own group is the root of what it sees.
  std::istringstream line(FirstLine("/sys/fs/cgroup/cpu.max"));
  std::string quota;
  double period = 0;
  if (!(line >> quota >> period) || quota == "max" || period <= 0) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(quota.data(), quota.data() + quota.size(), value);
  return error == std::errc() ? value / period : 0;
}

void ReadProcessor(DeviceModel& machine) {
  machine.processor.clear();
  std::ifstream file("/proc/cpuinfo");
  std::string line, implementer, part;
  while (std::getline(file, line) && !line.empty()) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto name = std::string_view(line).substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const auto value = std::string_view(line).substr(std::min(line.size(), colon + 2));
    if (name == "model name") machine.processor = value;
    if (name == "CPU implementer") implementer = value;
    if (name == "CPU part") part = value;
    if (name != "flags") continue;
    const auto padded = fmt::format(" {} ", value);
    for (const auto& [flag, bytes] : {std::pair{" avx2 ", 32}, {" avx512f ", 64}}) {
      if (padded.find(flag) != std::string::npos) machine.vector_bytes = bytes;
    }
    machine.bf16_pairs = padded.find(" avx512_bf16 ") != std::string::npos;
  }
  if (!machine.processor.empty()) return;
  utsname system{};
  uname(&system);
  machine.processor = fmt::format("{} {} {}", system.machine, implementer, part);
}

std::string ProcessorFolder(int cpu) { return fmt::format("/sys/devices/system/cpu/cpu{}", cpu); }

void ReadCachesAndCores(DeviceModel& machine) {
  std::map<std::string, std::int64_t> l3;  // each shared one once
  const auto processors = UsableProcessors();
  for (const int cpu : processors) {
    for (int index = 0; index < 8; ++index) {
      const auto cache = fmt::format("{}/cache/index{}", ProcessorFolder(cpu), index);
      const auto level = FirstLine(cache + "/level");
      if (level.empty()) break;
      const auto bytes = ParseSize(FirstLine(cache + "/size"));
      if (bytes <= 0 || FirstLine(cache + "/type") == "Instruction") continue;
      if (level == "1") machine.l1_bytes = bytes;
      if (level == "2") machine.l2_bytes = bytes;
      if (level == "3") l3[FirstLine(cache + "/shared_cpu_list")] = bytes;
    }
  }
  for (const auto& [shared, bytes] : l3) machine.l3_bytes += bytes;
  machine.threads = std::max(1, static_cast<int>(processors.size()));
  if (const double quota = Quota(); quota > 0)
    machine.threads = std::clamp(static_cast<int>(std::ceil(quota)), 1, machine.threads);
}

double Interpolate(const std::vector<BandwidthPoint>& points, std::int64_t working_set,
                   double BandwidthPoint::* value) {
  if (points.empty()) return 0;
  const auto above = std::find_if(points.begin(), points.end(),
                                  [&](const auto& point) { return point.working_set_bytes >= working_set; });
  if (above == points.begin()) return points.front().*value;
  if (above == points.end()) return points.back().*value;
  const auto below = above - 1;
  const double low = std::log2(static_cast<double>(below->working_set_bytes)),
               high = std::log2(static_cast<double>(above->working_set_bytes));
  const double part = (std::log2(static_cast<double>(working_set)) - low) / (high - low);
  return (*below).*value + part * ((*above).*value - (*below).*value);
}

}  // namespace

double Ceilings::CopyBandwidth(std::int64_t working_set_bytes) const {
  return Interpolate(bandwidth, working_set_bytes, &BandwidthPoint::copy_bytes_per_second);
}

double Ceilings::ReadBandwidth(std::int64_t working_set_bytes) const {
  return Interpolate(bandwidth, working_set_bytes, &BandwidthPoint::read_bytes_per_second);
}

std::vector<int> UsableProcessors() {
  std::vector<int> processors;
  std::set<std::string> cores;
  for (const int cpu : AffinityMask()) {
    auto siblings = FirstLine(ProcessorFolder(cpu) + "/topology/thread_siblings_list");
    if (cores.insert(siblings.empty() ? std::to_string(cpu) : std::move(siblings)).second) processors.push_back(cpu);
  }
  return processors;
}

const DeviceModel& DescribeMachine() {
  static const DeviceModel described = [] {
    DeviceModel machine;
    ReadProcessor(machine);
    ReadCachesAndCores(machine);
    machine.id =
        Sha256(fmt::format("{}\n{}\n{}\n", machine.processor, machine.threads, machine.vector_bytes)).substr(0, 16);
    return machine;
  }();
  return described;
}

std::optional<std::string> Lacks(const DeviceModel& device, const Instructions& needed) {
  const auto lacks = [&](std::string_view what) {
    return fmt::format("{} ({}) has no {}", device.processor, device.arch, what);
  };
  if (needed.wgmma && !device.has.wgmma) return lacks("wgmma");
  if (needed.tensor_maps && !device.has.tensor_maps) return lacks("tensor maps");
  return std::nullopt;
}

std::string WidthOf(const DeviceModel& device) {
  if (device.kind == DeviceKind::kCuda) return fmt::format("{} multiprocessors", device.multiprocessors);
  return fmt::format("{} thread{}", device.threads, device.threads == 1 ? "" : "s");
}

std::string CalibrationPath(const DeviceModel& described) {
  return fmt::format("{}/machines/{}.json", DataDirectory(), described.id);
}

// What the device is stands beside its ceilings for who reads the file; nothing is read of it.
std::string ToJson(const DeviceModel& device) {
  nlohmann::json document = ToRecord(device.ceilings);
  document["schema"] = kSchema;
  document["id"] = device.id;
  document["processor"] = device.processor;
  document["cuda"] = device.kind == DeviceKind::kCuda;
  if (device.kind == DeviceKind::kCuda) {
    document["arch"] = device.arch;
    document["multiprocessors"] = device.multiprocessors;
    document["memory_bytes"] = device.memory_bytes;
  } else {
    document["threads"] = device.threads;
    document["vector_bytes"] = device.vector_bytes;
    document["bf16_pairs"] = device.bf16_pairs;
  }
  document["l1_bytes"] = device.l1_bytes;
  document["l2_bytes"] = device.l2_bytes;
  document["l3_bytes"] = device.l3_bytes;
  return JsonText(document, 2) + "\n";
}

Result<Ceilings> ParseCeilings(std::string_view json) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  const auto schema = document.is_object() ? document.find("schema") : document.end();
  if (schema == document.end()) return Fail(ErrorKind::kCorrupt, "not a calibration: it has no schema");
  if (*schema != kSchema) {
    return Fail(ErrorKind::kCorrupt,
                fmt::format("schema {} of a calibration is not {}, which this hone writes", schema->dump(), kSchema));
  }
  Ceilings ceilings = HONE_TRY(FromRecord<Ceilings>(document, "a calibration"));
  if (ceilings.measured_on.empty())
    return Fail(ErrorKind::kCorrupt, "not a calibration: nothing says when it was made");
  std::int64_t last = 0;
  for (const auto& point : ceilings.bandwidth) {
    if (point.working_set_bytes <= last)
      return Fail(ErrorKind::kCorrupt, "the working sets of a calibration must rise");
    last = point.working_set_bytes;
  }
  ceilings.source = Ceilings::Source::kMeasured;
  return ceilings;
}

Result<DeviceModel> LoadCalibration(const DeviceModel& described) {
  const auto path = CalibrationPath(described);
  auto text = ReadFile(path);
  if (!text && text.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kNotFound, "this machine has not been measured: run `hone calibrate`");
  }
  if (!text) return Rethrow(std::move(text).error(), "");
  auto ceilings = ParseCeilings(*text);
  if (!ceilings) {
    auto error = std::move(ceilings).error();
    error.message += "; run `hone calibrate` again";
    return Rethrow(std::move(error), path + ": ");
  }
  DeviceModel device = described;
  device.ceilings = *std::move(ceilings);
  return device;
}

Result<void> SaveCalibration(const DeviceModel& device) {
  return WriteFileAtomically(CalibrationPath(device), ToJson(device));
}

}  // namespace hone
