#include "evaluate/sampled_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <variant>

#include "base/files.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/fatbin.h"
#include "target/cuda/nvcc.h"

namespace hone {
namespace {

constexpr int kInstructionBytes = 16;
constexpr std::size_t kAround = 3;  // instructions shown before and behind one that has samples

std::int64_t AllSamples(const SampledKernel& kernel) {
  return std::accumulate(kernel.code.begin(), kernel.code.end(), std::int64_t{0},
                         [](std::int64_t sum, const SampledCode& one) { return sum + one.samples; });
}

std::vector<SampledOffset> SamplesOf(const ProfiledReport& report, std::string_view function) {
  std::vector<SampledOffset> samples;
  for (const SampledInstruction& one : report.samples) {
    if (one.function == function) samples.push_back({one.offset, one.stalls});
  }
  return samples;
}

std::string_view Trimmed(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
}

}  // namespace

std::string SampledKernel::LineAt(const cuda::SourcePlace& place) const {
  if (name.empty() || !place.file.ends_with(name)) return "";
  std::string_view rest = source;
  for (int line = 1; line < place.line; ++line) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) return "";
    rest.remove_prefix(end + 1);
  }
  return std::string(Trimmed(rest.substr(0, rest.find('\n'))));
}

Result<void> CompileWithLines(CandidateProfiles& made, const Candidate& candidate, const Problem& problem,
                              const DeviceModel& device, const std::string& program) {
  const auto wrong = [](const std::string& message) {
    return Fail(ErrorKind::kTool, "with -lineinfo it does not compile: " + message);
  };
  if (!made.plan) {
    const auto compiled =
        HONE_TRY(cuda::CompileCudaModule({.source = candidate.text, .arch = device.arch, .lines = true}));
    if (!compiled.ok()) return wrong(compiled.errors[0].message);
    made.kernels = HONE_TRY(cuda::ReadKernelsOfLibrary(HONE_TRY(ReadFile(compiled.library))));
    return {};
  }
  Plan plan = made.plan->plan;
  for (PlanSource& source : plan.sources) source.flags.emplace_back("-lineinfo");
  auto built = HONE_TRY(cuda::BuildPlan(plan, problem, device, program));
  if (const auto* refusal = std::get_if<cuda::PlanRefusal>(&built)) return wrong(refusal->message);
  made.plan = std::get<cuda::BuiltPlan>(std::move(built));
  return {};
}

std::vector<SampledKernel> SampledKernelsOf(const CandidateProfiles& made, const Candidate& candidate,
                                            const ProfiledReport& report) {
  std::vector<SampledKernel> kernels;
  const auto add = [&](const cuda::KernelFacts& kernel, std::string source, std::string name) {
    const bool known = std::any_of(kernels.begin(), kernels.end(),
                                   [&](const SampledKernel& one) { return one.kernel.name == kernel.name; });
    if (!known)
      kernels.push_back(
          {kernel, JoinSamples(kernel, SamplesOf(report, kernel.name)), std::move(source), std::move(name)});
  };
  if (made.plan) {
    std::size_t launch = 0;
    for (const PlanStep& step : made.plan->plan.steps) {
      const auto* one = std::get_if<LaunchStep>(&step);
      if (one == nullptr) continue;
      const PlanSource& source = made.plan->plan.sources[one->source];
      add(made.plan->launches[launch++], source.text, source.name);
    }
  }
  for (const cuda::KernelFacts& kernel : made.kernels) add(kernel, candidate.text, std::string(cuda::kModuleSource));
  return kernels;
}

void AddSamples(std::vector<Profile>& profiles, std::span<const SampledKernel> kernels) {
  for (Profile& profile : profiles) {
    if (profile.scope != Scope::kLaunch) continue;
    for (const SampledKernel& one : kernels) {
      if (one.kernel.name != profile.subject) continue;
      AddSampleFacts(profile, one.kernel, one.code, [&](const cuda::SourcePlace& place) { return one.LineAt(place); });
    }
  }
}

std::string Describe(const SampledKernel& kernel) {
  const auto all = AllSamples(kernel);
  const auto& code = kernel.kernel.code;
  std::vector<bool> shown(code.size(), all == 0);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (kernel.code[i].samples == 0) continue;
    const std::size_t from = i < kAround ? 0 : i - kAround, to = std::min(code.size(), i + kAround + 1);
    std::fill(shown.begin() + static_cast<std::ptrdiff_t>(from), shown.begin() + static_cast<std::ptrdiff_t>(to), true);
  }
  std::string text = all == 0 ? fmt::format("{}: {} instructions\n", kernel.kernel.name, code.size())
                              : fmt::format("{}: {} samples\n", kernel.kernel.name, all);
  int line = 0;
  bool gap = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!shown[i]) {
      if (!gap) text += "            ...\n";
      gap = true;
      continue;
    }
    gap = false;
    if (i < kernel.kernel.places.size() && kernel.kernel.places[i].line != line) {
      line = kernel.kernel.places[i].line;
      text += fmt::format("  line {}: {}\n", line, kernel.LineAt(kernel.kernel.places[i]));
    }
    const SampledCode& sampled = kernel.code[i];
    const std::string share =
        sampled.samples == 0
            ? ""
            : fmt::format("{:.1f} %", 100 * static_cast<double>(sampled.samples) / static_cast<double>(all));
    text += fmt::format("  {:>8} {:#06x}  {}{}{}\n", share, i * kInstructionBytes, code[i].name, code[i].width,
                        sampled.reason.empty() ? "" : fmt::format("    waits for {}", WaitingFor(sampled.reason)));
  }
  return text;
}

nlohmann::json ToJson(std::span<const SampledKernel> kernels) {
  nlohmann::json json = nlohmann::json::array();
  for (const SampledKernel& kernel : kernels) {
    nlohmann::json instructions = nlohmann::json::array();
    for (std::size_t i = 0; i < kernel.code.size(); ++i) {
      const SampledCode& sampled = kernel.code[i];
      instructions.push_back({{"offset", i * kInstructionBytes},
                              {"name", fmt::format("{}{}", kernel.kernel.code[i].name, kernel.kernel.code[i].width)},
                              {"line", i < kernel.kernel.places.size() ? kernel.kernel.places[i].line : 0},
                              {"samples", sampled.samples},
                              {"waiting", sampled.waiting},
                              {"reason", sampled.reason}});
    }
    json.push_back({{"kernel", kernel.kernel.name}, {"samples", AllSamples(kernel)}, {"instructions", instructions}});
  }
  return json;
}

}  // namespace hone
