// What the process that runs candidates for their profiles is told, as lines of JSON on its standard input
// (worker/profiled.h): first its setup, then a question for each candidate. To each question it answers with a line on
// its standard output. Nothing of that decides whether a candidate is right or fast.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "protocol/protocol.h"

namespace hone {

struct ProfiledSetup {
  std::string problem, folder;  // as JSON, and where its files are
  std::string cupti;            // its library; empty: it is not here
};

struct ProfiledQuestion {
  Form form = Form::kPlan;
  std::string built;                 // path of a built plan
  std::vector<std::string> metrics;  // of CUPTI, to be counted; none: nothing is
  std::string sweep;      // path of the cubin of CompileWorkerKernels: the second-level cache is swept before each step
                          // that is counted; empty: it is as the step before leaves it
  bool timeline = false;  // when what ran is recorded
  bool samples = false;   // where its warps wait
  bool watched = false;   // a profiler from outside watches one run; the two above are false then
};

enum class EventKind : std::uint8_t { kKernel, kMemset, kCopy };
inline constexpr std::string_view kEventKinds[] = {"kernel", "memset", "copy"};
inline std::string_view Name(EventKind kind) { return kEventKinds[static_cast<std::size_t>(kind)]; }
inline std::optional<EventKind> ParseEventKind(std::string_view name) {
  return ParseName<EventKind>(kEventKinds, name);
}

struct TimelineEvent {
  int step = -1;  // of the plan; -1: not known
  EventKind kind = EventKind::kKernel;
  std::string name;                 // of a kernel, as the compiler mangles it
  double begin_us = 0, end_us = 0;  // since the first one began
  std::vector<int> grid, block;     // of a kernel: blocks, and threads of each; x, y, z
  int shared_bytes = 0;             // of a block, dynamic
};

struct CountedKernel {
  int step = -1;
  std::string name;            // empty: not known
  std::vector<double> values;  // one a metric; NaN where it makes no sense
};

// Samples of one instruction.
struct SampledInstruction {
  std::string function;                        // as the compiler mangles it
  std::int64_t offset = 0;                     // in bytes from the function's beginning
  std::map<std::string, std::int64_t> stalls;  // by why a warp did not go on, as CUPTI calls it
};

struct ProfiledReport {
  std::string failed;                          // why there is nothing else; the process then ends
  std::string chip;                            // CUPTI's name
  std::vector<std::string> metrics;            // those that it has
  int passes = 0;                              // runs of each kernel
  std::vector<CountedKernel> kernels;          // of one run, in order
  std::string why_kernel_replay;               // why each was run again by itself; empty: the whole run was
  std::string no_counters;                     // why there are none
  std::vector<TimelineEvent> timeline;         // of one run with warm caches, all of it asked for before it began
  bool as_graph = false;                       // as one CUDA graph, which was faster
  std::string no_timeline;                     // why there is none
  std::vector<SampledInstruction> samples;     // of several runs
  std::int64_t dropped_samples = 0;            // for want of room
  std::string no_samples;                      // why there are none
  std::map<std::string, double> milliseconds;  // that its parts took; of the first, with getting ready
};

template <SameAs<ProfiledSetup> Of>
void Fields(Of& setup, auto&& field) {
  field("problem", setup.problem);
  field("folder", setup.folder);
  field("cupti", setup.cupti);
}

template <SameAs<ProfiledQuestion> Of>
void Fields(Of& question, auto&& field) {
  field("form", question.form, ByName<Form>{Name, ParseForm});
  field("built", question.built);
  field("metrics", question.metrics);
  field("sweep", question.sweep);
  field("timeline", question.timeline);
  field("samples", question.samples);
  field("watched", question.watched);
}

template <SameAs<TimelineEvent> Of>
void Fields(Of& event, auto&& field) {
  field("step", event.step);
  field("kind", event.kind, ByName<EventKind>{Name, ParseEventKind});
  field("name", event.name);
  field("begin_us", event.begin_us);
  field("end_us", event.end_us);
  field("grid", event.grid, kIfAny);
  field("block", event.block, kIfAny);
  field("shared_bytes", event.shared_bytes, WrittenUnless{0});
}

template <SameAs<CountedKernel> Of>
void Fields(Of& kernel, auto&& field) {
  field("step", kernel.step);
  field("name", kernel.name);
  field("values", kernel.values);
}

template <SameAs<SampledInstruction> Of>
void Fields(Of& one, auto&& field) {
  field("function", one.function);
  field("offset", one.offset);
  field("stalls", one.stalls);
}

template <SameAs<ProfiledReport> Of>
void Fields(Of& report, auto&& field) {
  field("failed", report.failed);
  field("chip", report.chip);
  field("metrics", report.metrics);
  field("passes", report.passes);
  field("kernels", report.kernels);
  field("why_kernel_replay", report.why_kernel_replay);
  field("no_counters", report.no_counters);
  field("timeline", report.timeline);
  field("as_graph", report.as_graph);
  field("no_timeline", report.no_timeline);
  field("samples", report.samples, kIfAny);
  field("dropped_samples", report.dropped_samples);
  field("no_samples", report.no_samples);
  field("milliseconds", report.milliseconds);
}

}  // namespace hone
