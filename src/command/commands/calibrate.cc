// hone calibrate: measures what this machine can do at best, against which kernels are judged, and keeps it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/target.h"
#include "target/cuda/device_calibration.h"
#include "target/cuda/device_lock.h"
#include "target/device_model.h"

namespace hone::verb_calibrate {
namespace {

constexpr Option kOptions[] = {
    kTargetOption,
    {.name = "devices", .value = "UUID", .help = "cuda: the device that is meant (default: the first that is free)"},
    {.name = "fast", .type = ValueType::kFlag, .help = "cpu: rough figures within a second, which are not kept"},
};

std::string Size(std::int64_t bytes) {
  constexpr std::int64_t kMiB = 1 << 20;
  if (bytes >= kMiB && bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes >= 4 * kMiB) return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB);
  return fmt::format("{} KiB", bytes >> 10);
}

void AddBandwidth(const DeviceModel& machine, std::string& text) {
  text += fmt::format("{:>12}  {:>11}  {:>11}\n", "working set", "copy GB/s", "read GB/s");
  for (const auto& point : machine.ceilings.bandwidth) {
    text += fmt::format("{:>12}  {:>11.1f}  {:>11.1f}\n", Size(point.working_set_bytes),
                        point.copy_bytes_per_second / 1e9, point.read_bytes_per_second / 1e9);
  }
}

std::string DeviceTable(const DeviceModel& machine) {
  auto text = fmt::format("{}, {}, {} L2\n", machine.processor, WidthOf(machine), Size(machine.l2_bytes));
  text += fmt::format("arithmetic          {:.1f} TFLOP/s as accurate as f32, {:.1f} TFLOP/s f64\n",
                      machine.ceilings.fma_flops_f32 / 1e12, machine.ceilings.fma_flops_f64 / 1e12);
  text += fmt::format("vector units        {:.1f} TFLOP/s f32\n", machine.ceilings.vector_flops_f32 / 1e12);
  for (const auto& [type, flops] : machine.ceilings.matmul_flops)
    text += fmt::format("cuBLASLt            {:.1f} TFLOP/s {}\n", flops / 1e12, type);
  text += fmt::format("launch              {:.2f} us in a graph, {:.2f} us in a stream\n",
                      machine.ceilings.fork_join_us, machine.ceilings.stream_launch_us);
  if (machine.ceilings.energy_tick_ms > 0)
    text += fmt::format("energy              {:.0f} W at rest, counted every {:.0f} ms\n", machine.ceilings.idle_watts,
                        machine.ceilings.energy_tick_ms);
  text += '\n';
  AddBandwidth(machine, text);
  return text;
}

std::string Table(const DeviceModel& machine) {
  if (machine.kind == DeviceKind::kCuda) return DeviceTable(machine);
  auto text = fmt::format("{}, {}, {}-byte vectors\n", machine.processor, WidthOf(machine), machine.vector_bytes);
  text += fmt::format("caches              {} L1 and {} L2 a core{}\n", Size(machine.l1_bytes), Size(machine.l2_bytes),
                      machine.l3_bytes > 0 ? fmt::format(", {} L3", Size(machine.l3_bytes)) : "");
  text += fmt::format("fused multiply-add  {:.1f} GFLOP/s f32, {:.1f} GFLOP/s f64\n",
                      machine.ceilings.fma_flops_f32 / 1e9, machine.ceilings.fma_flops_f64 / 1e9);
  for (const auto& [type, flops] : machine.ceilings.matmul_flops)
    text += fmt::format("products            {:.1f} GFLOP/s {}\n", flops / 1e9, type);
  text += fmt::format("fork and join       {:.2f} us\n\n", machine.ceilings.fork_join_us);
  AddBandwidth(machine, text);
  return text;
}

Result<Answer> RunCalibrate(VerbCall& call) {
  const bool fast = call.Flag("fast");
  const bool cuda = HONE_TRY(WantsCuda(call));
  if (cuda && fast) return Fail(ErrorKind::kUsage, "--fast is of the cpu: measuring a device takes a few seconds");
  std::unique_ptr<cuda::DeviceHold> held;
  if (cuda) {
    const auto say = [&](std::string_view what) { call.Note(what); };
    held = HONE_TRY(cuda::LockDevices(call.Text("devices"), {.say = say}));
    if (held->devices().size() != 1) return Fail(ErrorKind::kUsage, "--devices: one device is measured at a time");
  }
  const auto machine = HONE_TRY(
      cuda ? cuda::CalibrateDevice(held->devices().front().ordinal)
           : Calibrate(fast ? Effort::kFast : Effort::kFull, [&](std::string_view what) { call.Progress(what); }));
  auto text = Table(machine);
  if (!fast) {
    HONE_TRY(SaveCalibration(machine));
    text += fmt::format("\nkept in {}\n", CalibrationPath(machine));
  }
  return Answer::FromJsonText(ToJson(machine), std::move(text));
}

}  // namespace

HONE_ROW(Verb){
    .name = "calibrate",
    .doc = "Measure this machine's ceilings: arithmetic, memory bandwidth by working set, fork and join",
    .group = VerbGroup::kMachine,
    .place = 2,
    .help =
        "Takes about ten seconds on all cores; let nothing else run meanwhile. Speed-of-light bounds and headroom are\n"
        "stated against these figures. With --target cuda a device is measured, by plans of our own. They are "
        "kept for this machine, in $HONE_DATA, else $XDG_DATA_HOME/hone, else\n"
        "~/.local/share/hone. The bandwidth of a copy counts the bytes read and the bytes written.",
    .options = kOptions,
    .json =
        "id, processor, threads, vector_bytes, bf16_pairs (of a device arch, multiprocessors, memory_bytes),\n"
        "l1_bytes, l2_bytes (a core), l3_bytes, fma_flops_f32, fma_flops_f64 (FLOP/s of all threads), matmul_flops\n"
        "(by type: of a device cuBLASLt's, of a processor its products of bf16, if it has them), fork_join_us,\n"
        "measured_on, compiler, bandwidth[]: working_set_bytes, copy_bytes_per_second, read_bytes_per_second; of a\n"
        "device also vector_flops_f32 (without tensor cores), stream_launch_us, energy_tick_ms and idle_watts",
    .run = RunCalibrate,
};

}  // namespace hone::verb_calibrate
