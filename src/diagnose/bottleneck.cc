#include "diagnose/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/record.h"

namespace hone {
namespace {

constexpr std::string_view kNames[] = {"compute", "memory", "latency", "launch", "balanced"};

// Two limits that differ by less than this are both worth lowering.
constexpr double kApart = 1.25;
// A step that could be done in so many launches' time is mostly launch.
constexpr double kLaunches = 2;
// Where issuing takes less than this part of the time of loads and stores, memory is what counts.
constexpr double kClearly = 2;
// Nsight Compute's own steps (its section "Speed Of Light", 2025.4): below 60 % of both peaks nothing is busy, and 10
// points between the two tell them apart.
constexpr double kBusy = 0.6, kPoints = 0.1;

std::optional<Class> OfLimits(double bytes_us, double flops_us, double confidence) {
  const double more = std::max(bytes_us, flops_us), less = std::min(bytes_us, flops_us);
  const std::string why = fmt::format("its bytes take {:.3g} us at least, its FLOPs {:.3g} us", bytes_us, flops_us);
  if (less * kApart >= more) return Class{Bottleneck::kBalanced, confidence, why};
  return Class{bytes_us > flops_us ? Bottleneck::kMemory : Bottleneck::kCompute, confidence, why};
}

std::optional<Class> ByAnalysis(const Profile& profile) {
  const auto launch_us = profile.Get("launch_us");
  const double launches = profile.scope == Scope::kPlan ? profile.Get("launches").value_or(1) : 1;
  const auto bytes_us = profile.Get("bytes_limit_us"), flops_us = profile.Get("flops_limit_us");
  const auto limit_us =
      bytes_us && flops_us ? std::optional(std::max(*bytes_us, *flops_us)) : profile.Get("step_limit_us");
  if (launch_us && limit_us && launches * *launch_us * kLaunches > *limit_us) {
    return Class{Bottleneck::kLaunch, std::min(0.8, profile.Find("launch_us")->confidence),
                 fmt::format("{:.0f} launch{} of {:.2g} us beside work of {:.3g} us", launches,
                             launches == 1 ? "" : "es", *launch_us, *limit_us)};
  }
  if (const auto busy = profile.Get("busy_multiprocessors"); busy && *busy < 0.5) {
    return Class{Bottleneck::kLatency, 0.6, fmt::format("{:.0f} % of the multiprocessors get a block", 100 * *busy)};
  }
  // What the text issues says more of a kernel than what its problem needs.
  if (const auto issue = profile.Get("issue_to_memory")) {
    const std::string why =
        fmt::format("issuing its instructions takes {:.2g} times as long as its loads and stores", *issue);
    if (*issue > kApart) return Class{Bottleneck::kCompute, 0.6, why};
    if (*issue * kClearly < 1) return Class{Bottleneck::kMemory, bytes_us ? 0.6 : 0.4, why};  // or a cache has it all
    return Class{Bottleneck::kBalanced, 0.4, why};
  }
  if (bytes_us && flops_us) return OfLimits(*bytes_us, *flops_us, 0.8);
  return std::nullopt;
}

std::optional<Class> ByCounters(const Profile& profile) {
  const auto memory = profile.Get("dram_busy");
  std::optional<double> compute;
  for (const char* name :
       {"issue_busy", "tensor_busy", "fma_busy", "alu_busy", "double_busy", "special_busy", "lsu_busy"}) {
    if (const auto busy = profile.Get(name)) compute = std::max(compute.value_or(0), *busy);
  }
  if (!memory || !compute) return std::nullopt;
  const std::string why =
      fmt::format("the memory is busy {:.0f} % of the time, the busiest unit {:.0f} %", 100 * *memory, 100 * *compute);
  if (*memory < kBusy && *compute < kBusy) return Class{Bottleneck::kLatency, 0.9, why};
  if (*memory - *compute >= kPoints) return Class{Bottleneck::kMemory, 0.9, why};
  if (*compute - *memory >= kPoints) return Class{Bottleneck::kCompute, 0.9, why};
  return Class{Bottleneck::kBalanced, 0.9, why};
}

}  // namespace

std::string_view Name(Bottleneck bottleneck) { return kNames[static_cast<std::size_t>(bottleneck)]; }
std::optional<Bottleneck> ParseBottleneck(std::string_view name) { return ParseName<Bottleneck>(kNames, name); }

Classification Classify(const Profile& profile) { return {ByAnalysis(profile), ByCounters(profile)}; }

}  // namespace hone
