#include "target/cuda/source_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

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
    if (!is_comment) comment = std::string_view::npos;
    if (is_comment) comment = std::min(at, comment);
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

bool Defines(std::string_view text, std::string_view kernel) {
  for (auto at = text.find(kKernelBegin); at != std::string_view::npos; at = text.find(kKernelBegin, at + 1)) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    const auto name = line.find(fmt::format(" {}(", kernel));
    if (name != std::string_view::npos && (at == 0 || text[at - 1] == '\n')) return true;
  }
  return false;
}

}  // namespace

Plan InParts(const Plan& plan) {
  Plan made = plan;
  made.sources.clear();
  std::vector<std::pair<std::size_t, std::size_t>> parts_of;  // of each source: its first part, and the next one's
  for (const PlanSource& source : plan.sources) {
    const std::size_t first = made.sources.size();
    const bool taken = std::any_of(plan.sources.begin(), plan.sources.end(),
                                   [&](const PlanSource& other) { return other.name.starts_with(source.name + '.'); });
    for (PlanSource& part : taken ? std::vector{source} : PartsOf(source)) made.sources.push_back(std::move(part));
    parts_of.emplace_back(first, made.sources.size());
  }
  for (auto* steps : {&made.prepare, &made.steps}) {
    for (PlanStep& step : *steps) {
      auto* launch = std::get_if<LaunchStep>(&step);
      if (launch == nullptr) continue;
      const auto [first, end] = parts_of[launch->source];
      launch->source = first;
      for (std::size_t s = first; s < end && end - first > 1; ++s) {
        if (Defines(made.sources[s].text, launch->kernel)) launch->source = s;
      }
    }
  }
  return made;
}

}  // namespace hone::cuda
