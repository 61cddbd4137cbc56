#include "target/cuda/source_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::cuda {
namespace {

// What a part costs beyond its kernels is the compiler's start and the headers: some tenths of a second, as much as a
// few kernels. Not a matter of the machine's threads, so that what is compiled is found again on another one.
constexpr std::size_t kPartBytes = 24u << 10;

// Where the kernels begin, each with the comment above it, and where the text ends.
std::vector<std::size_t> KernelBegins(std::string_view text) {
  std::vector<std::size_t> begins;
  std::size_t comment = std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_comment = rest.starts_with("//");
    if (rest.starts_with(kKernelBegin)) begins.push_back(std::min(at, comment));
    comment = is_comment ? std::min(at, comment) : std::string_view::npos;
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  if (!begins.empty()) begins.push_back(text.size());
  return begins;
}

std::vector<PlanSource> PartsOf(const PlanSource& source) {
  const std::string_view text = source.text;
  const auto begins = KernelBegins(text);
  if (!source.apart || begins.empty()) return {source};
  const std::size_t all = text.size() - begins[0], count = (all + kPartBytes - 1) / kPartBytes;
  std::vector<PlanSource> parts;
  for (std::size_t k = 0; k + 1 < begins.size();) {
    const std::size_t first = k, most = begins[0] + all * (parts.size() + 1) / count;
    while (++k + 1 < begins.size() && begins[k + 1] <= most) {
    }
    PlanSource part{.name = parts.empty() ? source.name : fmt::format("{}.{}", source.name, parts.size() + 1),
                    .text = std::string(text.substr(0, begins[0])),
                    .flags = source.flags};
    part.text.append(
        static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(begins[0]),
                                            text.begin() + static_cast<std::ptrdiff_t>(begins[first]), '\n')),
        '\n');
    part.text += text.substr(begins[first], begins[k] - begins[first]);
    parts.push_back(std::move(part));
  }
  return parts;
}

// What may be the name of a kernel that the text defines: each word before a bracket where one begins.
std::vector<std::string> KernelNames(std::string_view text) {
  std::vector<std::string> names;
  for (auto at = text.find(kKernelBegin); at != std::string_view::npos; at = text.find(kKernelBegin, at + 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    for (auto end = line.find('('); end != std::string_view::npos; end = line.find('(', end + 1)) {
      const auto before = line.rfind(' ', end);
      names.emplace_back(line.substr(before + 1, end - before - 1));
    }
  }
  return names;
}

}  // namespace

Plan InParts(const Plan& plan) {
  Plan made = plan;
  made.sources.clear();
  // Of each source: its first part, and which of several has a kernel.
  struct Parts {
    std::size_t first = 0;
    std::map<std::string, std::size_t, std::less<>> of;
  };
  std::vector<Parts> all;
  for (const PlanSource& source : plan.sources) {
    Parts parts{.first = made.sources.size(), .of = {}};
    const bool taken = std::any_of(plan.sources.begin(), plan.sources.end(),
                                   [&](const PlanSource& other) { return other.name.starts_with(source.name + '.'); });
    for (PlanSource& part : taken ? std::vector{source} : PartsOf(source)) {
      for (std::string& name : source.apart ? KernelNames(part.text) : std::vector<std::string>())
        parts.of[std::move(name)] = made.sources.size();
      made.sources.push_back(std::move(part));
    }
    all.push_back(std::move(parts));
  }
  for (auto* steps : {&made.prepare, &made.steps}) {
    for (PlanStep& step : *steps) {
      auto* launch = std::get_if<LaunchStep>(&step);
      if (launch == nullptr) continue;
      const Parts& parts = all[launch->source];
      const auto part = parts.of.find(launch->kernel);
      launch->source = part == parts.of.end() ? parts.first : part->second;
    }
  }
  return made;
}

}  // namespace hone::cuda
