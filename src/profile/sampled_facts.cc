#include "profile/sampled_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone {
namespace {

constexpr std::string_view kPrefix = "smsp__pcsamp_warps_issue_stalled_";
// Of each reason CUPTI has a second count, of those samples in which the scheduler issued nothing; a part of the first.
constexpr std::string_view kPartSuffix = "_not_issued";
constexpr std::int64_t kInstructionBytes = 16;

struct Reason {
  std::string_view name, waits_for;
};
constexpr Reason kReasons[] = {
    {"barrier", "a barrier"},
    {"branch_resolving", "a branch"},
    {"dispatch_stall", "the dispatcher"},
    {"drain", "stores at its end"},
    {"gmma", "products of warpgroups"},
    {"imc_miss", "constants"},
    {"lg_throttle", "room in the queue of loads and stores"},
    {"long_scoreboard", "memory"},
    {"math_pipe_throttle", "an arithmetic unit that is busy"},
    {"membar", "a fence"},
    {"mio_throttle", "room in the queue of shared memory and special functions"},
    {"no_instructions", "instructions"},
    {"short_scoreboard", "shared memory or special functions"},
    {"sleeping", "its alarm"},
    {"tex_throttle", "room in the queue of textures"},
    {"wait", "the result of the instruction before"},
};

// A warp that issues, or could, waits for nothing.
bool Waits(std::string_view reason) { return reason != "selected" && reason != "not_selected"; }

// A warp that has come to a barrier, or to its end with stores on the way, is counted at what it would do next.
std::size_t StandsAt(const cuda::KernelFacts& kernel, std::size_t index, std::string_view reason) {
  constexpr std::size_t kNear = 4;  // the next that has to wait, not the next of the text
  const auto is_it = [&](const cuda::Instruction& one) {
    return reason == "barrier" ? one.unit == cuda::Unit::kBarrier : reason == "drain" && one.name == "EXIT";
  };
  for (std::size_t back = 0; back <= std::min(kNear, index); ++back) {
    if (is_it(kernel.code[index - back])) return index - back;
  }
  return index;
}

std::string TextOf(const cuda::KernelFacts& kernel, std::size_t index,
                   const std::function<std::string(const cuda::SourcePlace&)>& line_text) {
  const cuda::Instruction& one = kernel.code[index];
  std::string text = fmt::format("{}{}", one.name, one.width);
  if (index >= kernel.places.size() || kernel.places[index].line == 0) return text;
  const cuda::SourcePlace& place = kernel.places[index];
  text += fmt::format(" of line {}", place.line);
  const std::string line = line_text ? line_text(place) : "";
  return line.empty() ? text : fmt::format("{} ({})", text, line);
}

}  // namespace

std::vector<SampledCode> JoinSamples(const cuda::KernelFacts& kernel, std::span<const SampledOffset> samples) {
  std::vector<SampledCode> code(kernel.code.size());
  std::vector<std::map<std::string, std::int64_t>> reasons(code.size());
  for (const SampledOffset& sample : samples) {
    const auto index = static_cast<std::size_t>(sample.offset / kInstructionBytes);
    if (sample.offset < 0 || index >= code.size()) continue;
    for (const auto& [name, count] : sample.stalls) {
      std::string_view reason = name;
      if (reason.ends_with(kPartSuffix)) continue;
      if (reason.starts_with(kPrefix)) reason.remove_prefix(kPrefix.size());
      code[index].samples += count;
      if (Waits(reason)) reasons[index][std::string(reason)] += count;
    }
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (const auto& [reason, count] : reasons[i]) {
      code[i].waiting += count;
      if (count <= code[i].of_reason) continue;
      code[i].reason = reason;
      code[i].of_reason = count;
    }
  }
  return code;
}

std::string_view WaitingFor(std::string_view reason) {
  const auto* found =
      std::find_if(std::begin(kReasons), std::end(kReasons), [&](const Reason& one) { return one.name == reason; });
  return found == std::end(kReasons) ? reason : found->waits_for;
}

std::int64_t ProducerOf(const cuda::KernelFacts& kernel, std::size_t index) {
  const unsigned waits = kernel.code[index].waits;
  for (auto i = static_cast<std::int64_t>(index) - 1; i >= 0 && waits != 0; --i) {
    const int announces = kernel.code[static_cast<std::size_t>(i)].announces;
    if (announces >= 0 && (waits >> announces & 1) != 0) return i;
  }
  return -1;
}

void AddSampleFacts(Profile& launch, const cuda::KernelFacts& kernel, std::span<const SampledCode> sampled,
                    const std::function<std::string(const cuda::SourcePlace&)>& line_text) {
  std::int64_t all = 0;
  std::map<std::string, std::int64_t> reasons;
  for (const SampledCode& one : sampled) {
    all += one.samples;
    if (!one.reason.empty()) reasons[one.reason] += one.of_reason;
  }
  if (all == 0) return;
  const auto share = [&](std::int64_t count) { return static_cast<double>(count) / static_cast<double>(all); };
  launch.Set("samples", static_cast<double>(all), FactSource::kCounter);
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == reasons.end()) return;
  launch.SetWord("top_stall", most->first, FactSource::kCounter);
  launch.Set("top_stall_share", share(most->second), FactSource::kCounter);
  const auto hot = static_cast<std::size_t>(
      std::max_element(sampled.begin(), sampled.end(),
                       [](const SampledCode& a, const SampledCode& b) { return a.of_reason < b.of_reason; }) -
      sampled.begin());
  launch.Set("hot_share", share(sampled[hot].of_reason), FactSource::kCounter);
  launch.SetWord("hot_stall", sampled[hot].reason, FactSource::kCounter);
  launch.SetWord("hot_place", TextOf(kernel, StandsAt(kernel, hot, sampled[hot].reason), line_text),
                 FactSource::kCounter);
  if (const auto producer = ProducerOf(kernel, hot); producer >= 0 && sampled[hot].reason.ends_with("scoreboard"))
    launch.SetWord("hot_for", TextOf(kernel, static_cast<std::size_t>(producer), line_text), FactSource::kCounter);
}

}  // namespace hone
