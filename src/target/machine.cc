#include "target/machine.h"

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
#include "base/sha256.h"

namespace hone {
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

void ReadProcessor(Machine& machine) {
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
  }
  if (!machine.processor.empty()) return;
  utsname system{};
  uname(&system);
  machine.processor = fmt::format("{} {} {}", system.machine, implementer, part);
}

std::string ProcessorFolder(int cpu) { return fmt::format("/sys/devices/system/cpu/cpu{}", cpu); }

void ReadCachesAndCores(Machine& machine) {
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

double Machine::CopyBandwidth(std::int64_t working_set_bytes) const {
  return Interpolate(bandwidth, working_set_bytes, &BandwidthPoint::copy_bytes_per_second);
}

double Machine::ReadBandwidth(std::int64_t working_set_bytes) const {
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

const Machine& DescribeMachine() {
  static const Machine described = [] {
    Machine machine;
    ReadProcessor(machine);
    ReadCachesAndCores(machine);
    machine.id =
        Sha256(fmt::format("{}\n{}\n{}\n", machine.processor, machine.threads, machine.vector_bytes)).substr(0, 16);
    return machine;
  }();
  return described;
}

std::string CalibrationPath(const Machine& described) {
  return fmt::format("{}/machines/{}.json", DataDirectory(), described.id);
}

std::string ToJson(const Machine& machine) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const auto& point : machine.bandwidth) {
    points.push_back({{"working_set_bytes", point.working_set_bytes},
                      {"copy_bytes_per_second", point.copy_bytes_per_second},
                      {"read_bytes_per_second", point.read_bytes_per_second}});
  }
  nlohmann::ordered_json document = {{"schema", kSchema},
                                     {"id", machine.id},
                                     {"processor", machine.processor},
                                     {"cuda", machine.cuda},
                                     {"threads", machine.threads},
                                     {"vector_bytes", machine.vector_bytes},
                                     {"l1_bytes", machine.l1_bytes},
                                     {"l2_bytes", machine.l2_bytes},
                                     {"l3_bytes", machine.l3_bytes},
                                     {"fma_flops_f32", machine.fma_flops_f32},
                                     {"fma_flops_f64", machine.fma_flops_f64},
                                     {"fork_join_us", machine.fork_join_us},
                                     {"measured_on", machine.measured_on},
                                     {"compiler", machine.compiler},
                                     {"bandwidth", std::move(points)}};
  if (machine.cuda) {
    document["matmul_flops"] = machine.matmul_flops;
    document["vector_flops_f32"] = machine.vector_flops_f32;
    document["stream_launch_us"] = machine.stream_launch_us;
    document["energy_tick_ms"] = machine.energy_tick_ms;
    document["idle_watts"] = machine.idle_watts;
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Machine> ParseMachine(std::string_view json) {
  try {
    const auto document = nlohmann::json::parse(json);
    if (const int schema = document.at("schema"); schema != kSchema) {
      return Fail(ErrorKind::kCorrupt,
                  fmt::format("schema {} of a calibration is not {}, which this hone writes", schema, kSchema));
    }
    Machine machine;
    document.at("id").get_to(machine.id);
    document.at("processor").get_to(machine.processor);
    machine.cuda = document.value("cuda", false);
    document.at("threads").get_to(machine.threads);
    document.at("vector_bytes").get_to(machine.vector_bytes);
    document.at("l1_bytes").get_to(machine.l1_bytes);
    document.at("l2_bytes").get_to(machine.l2_bytes);
    document.at("l3_bytes").get_to(machine.l3_bytes);
    document.at("fma_flops_f32").get_to(machine.fma_flops_f32);
    document.at("fma_flops_f64").get_to(machine.fma_flops_f64);
    document.at("fork_join_us").get_to(machine.fork_join_us);
    document.at("measured_on").get_to(machine.measured_on);
    document.at("compiler").get_to(machine.compiler);
    machine.matmul_flops = document.value("matmul_flops", machine.matmul_flops);
    machine.vector_flops_f32 = document.value("vector_flops_f32", 0.0);
    machine.stream_launch_us = document.value("stream_launch_us", 0.0);
    machine.energy_tick_ms = document.value("energy_tick_ms", 0.0);
    machine.idle_watts = document.value("idle_watts", 0.0);
    for (const auto& point : document.at("bandwidth")) {
      machine.bandwidth.push_back({.working_set_bytes = point.at("working_set_bytes"),
                                   .copy_bytes_per_second = point.at("copy_bytes_per_second"),
                                   .read_bytes_per_second = point.at("read_bytes_per_second")});
    }
    if (machine.threads < 1) return Fail(ErrorKind::kCorrupt, "a calibration must be of at least one thread");
    std::int64_t last = 0;
    for (const auto& point : machine.bandwidth) {
      if (point.working_set_bytes <= last)
        return Fail(ErrorKind::kCorrupt, "the working sets of a calibration must rise");
      last = point.working_set_bytes;
    }
    return machine;
  } catch (const nlohmann::json::exception& error) {
    return Fail(ErrorKind::kCorrupt, fmt::format("not a calibration: {}", error.what()));
  }
}

Result<Machine> LoadCalibration(const Machine& described) {
  const auto path = CalibrationPath(described);
  auto text = ReadFile(path);
  if (!text && text.error().kind == ErrorKind::kNotFound) {
    return Fail(ErrorKind::kNotFound, "this machine has not been measured: run `hone calibrate`");
  }
  if (!text) return Rethrow(std::move(text).error(), "");
  auto machine = ParseMachine(*text);
  if (!machine) {
    auto error = std::move(machine).error();
    error.message += "; run `hone calibrate` again";
    return Rethrow(std::move(error), path + ": ");
  }
  return machine;
}

Result<void> SaveCalibration(const Machine& machine) {
  return WriteFileAtomically(fmt::format("{}/machines/{}.json", DataDirectory(), machine.id), ToJson(machine));
}

}  // namespace hone
