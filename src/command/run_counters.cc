#include "command/run_counters.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/process.h"
#include "evaluate/measured_candidate.h"

namespace hone {
namespace {

constexpr std::chrono::milliseconds kWall{30'000};  // it was accepted and timed: it takes less

}  // namespace

RunCounters::RunCounters(const Workbench& bench, std::optional<CounterSet> set,
                         std::function<void(const std::string&)> note)
    : bench_(bench), set_(set), note_(std::move(note)) {}

std::string RunCounters::Count(const Candidate& candidate, int lane, CandidateProfiles& made) {
  if (!set_) return "";
  auto& profiler = profilers_[lane];
  if (!profiler) {
    const std::string device =
        bench_.devices
            ? bench_.devices->devices()[static_cast<std::size_t>(lane) % bench_.devices->devices().size()].uuid
            : "";
    profiler = std::make_unique<DeviceProfiler>(
        bench_.problem, DeviceProfiler::Options{.device = device, .arch = bench_.machine.arch, .wall = kWall});
  }
  const auto report = ProfileOnDevice(*profiler, candidate, made, bench_.machine, {.set = *set_});
  const bool none_here = !report ? report.error().kind == ErrorKind::kNotFound : !report->no_counters.empty();
  const std::string why = !report ? report.error().message : report->no_counters;
  if (none_here && candidate.kind != CandidateKind::kCudaModule) {
    note_(fmt::format("nothing is counted in this run, which goes on without: {}", why));
    set_.reset();
    profilers_.clear();
    return why;
  }
  if (report) AddMeasured(made, *report, bench_.problem, &bench_.graph, bench_.machine);
  return why.empty() ? "" : "counters: " + why;
}

}  // namespace hone
