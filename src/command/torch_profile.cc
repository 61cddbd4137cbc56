#include "command/torch_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/record.h"
#include "command/torch_baselines.h"
#include "judge/outside_baseline.h"

namespace hone {

template <SameAs<TorchKernel> Of>
void Fields(Of& kernel, auto&& field) {
  field("name", kernel.name, kAlways);
  field("us", kernel.us);
  field("calls", kernel.calls);
}

template <SameAs<TorchProfile> Of>
void Fields(Of& profile, auto&& field) {
  field("mode", profile.mode);
  field("wrong", profile.wrong);
  field("span_us", profile.span_us);
  field("kernels", profile.kernels);
}

namespace {

constexpr std::string_view kModes[] = {"eager", "compile"};
constexpr int kRuns = 5;
constexpr std::size_t kMostProfileLines = 12, kKernelColumns = 76;

TorchProfile AskProfile(OutsideProcess& process, const std::string& mode) {
  TorchProfile profile;
  const auto answer = process.Answer({{"profile", kRuns}, {"mode", mode}});
  auto read = answer ? FromRecord<TorchProfile>(*answer, "PyTorch's profile") : tl::unexpected<Error>(answer.error());
  if (read) {
    profile = *std::move(read);
  } else {
    profile.wrong = read.error().message;
  }
  profile.mode = mode;
  return profile;
}

}  // namespace

double TorchProfile::busy_us() const {
  double us = 0;
  for (const TorchKernel& kernel : kernels) us += kernel.us;
  return us;
}

Result<std::vector<TorchProfile>> ProfileTorch(const Problem& problem, const DeviceModel& machine, bool cuda,
                                               const std::atomic<bool>* interrupt) {
  const TorchBaselines found = HONE_TRY(FindTorchBaselines(problem, machine, {.cuda = cuda}));
  if (found.outside.empty()) {
    return Fail(ErrorKind::kNotFound,
                found.why_not.empty()
                    ? "PyTorch runs the file (.py, .pt2) that a problem came from; this one came from "
                      "none: name a candidate, or the file"
                    : found.why_not);
  }
  auto process = HONE_TRY(OutsideProcess::Start(found.outside.front(), false, interrupt));
  std::vector<TorchProfile> profiles;
  for (const std::string_view mode : kModes) {
    const bool has = std::any_of(found.outside.begin(), found.outside.end(),
                                 [&](const OutsideBaseline& one) { return one.mode == mode; });
    if (has && !process->lost()) profiles.push_back(AskProfile(*process, std::string(mode)));
  }
  return profiles;
}

nlohmann::json ToJson(const std::vector<TorchProfile>& profiles) {
  nlohmann::json json = nlohmann::json::array();
  for (const TorchProfile& profile : profiles) {
    json.push_back(ToRecord(profile));
    json.back()["busy_us"] = profile.busy_us();
  }
  return json;
}

std::string Describe(const std::vector<TorchProfile>& profiles, double bound_us) {
  std::string text;
  for (const TorchProfile& profile : profiles) {
    if (!text.empty()) text += '\n';
    if (!profile.wrong.empty()) {
      text += fmt::format("{}: {}\n", profile.mode, profile.wrong);
      continue;
    }
    const double busy = profile.busy_us();
    text += fmt::format(
        "{}: a run of {:.6g} us, {:.6g} us of it in {} part{}{}\n", profile.mode, profile.span_us, busy,
        profile.kernels.size(), profile.kernels.size() == 1 ? "" : "s",
        bound_us > 0 ? fmt::format("; {:.2f} times the bound of {:.3g} us", busy / bound_us, bound_us) : std::string());
    text += fmt::format("{:>10} {:>7} {:>6}\n", "us", "share", "calls");
    for (std::size_t i = 0; i < std::min(kMostProfileLines, profile.kernels.size()); ++i) {
      const TorchKernel& kernel = profile.kernels[i];
      text += fmt::format("{:10.2f} {:5.1f} % {:6.3g}  {}\n", kernel.us, busy > 0 ? 100 * kernel.us / busy : 0,
                          kernel.calls, kernel.name.substr(0, kKernelColumns));
    }
    if (profile.kernels.size() > kMostProfileLines)
      text += fmt::format("  and {} more\n", profile.kernels.size() - kMostProfileLines);
  }
  return text;
}

}  // namespace hone
