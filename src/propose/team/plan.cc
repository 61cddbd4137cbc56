#include "propose/team/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include "propose/answer.h"
#include "propose/prompt.h"

namespace hone {
namespace {

constexpr std::string_view kChange = "change:", kGain = "gain:", kKind = "kind:";

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

bool IsAnchor(std::string_view line) { return Trimmed(line) == kAnchorBegins || Trimmed(line) == kAnchorEnds; }

std::size_t Ticks(std::string_view line) { return std::min(line.find_first_not_of('`'), line.size()); }

tl::unexpected<Error> Bad(std::size_t line, std::string_view what) {
  return Fail(ErrorKind::kUsage, fmt::format("line {} of the plan: {}", line, what));
}

// Lines of the text that are not empty at its end, without spaces behind them.
std::vector<std::string_view> Compared(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::string_view line : LinesOf(text)) {
    if (IsAnchor(line)) continue;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.remove_suffix(1);
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Where marked text is not the attempt's, or its anchors are no pairs; `begun` is the line of its fence.
Result<void> HoldMarked(std::string_view marked, std::string_view source, std::size_t begun) {
  std::size_t number = begun, pairs = 0;
  bool open = false;
  for (const std::string_view line : LinesOf(marked)) {
    ++number;
    if (!IsAnchor(line)) continue;
    const bool begins = Trimmed(line) == kAnchorBegins;
    if (begins == open)
      return Bad(number, fmt::format("{} without {} before it", Trimmed(line), begins ? kAnchorEnds : kAnchorBegins));
    open = begins;
    pairs += begins ? 1 : 0;
  }
  if (open) return Bad(number, fmt::format("the last {} has no {} behind it", kAnchorBegins, kAnchorEnds));
  if (pairs == 0) return Bad(begun, fmt::format("no place is marked with {}", kAnchorBegins));
  const auto have = Compared(marked), want = Compared(source);
  const std::size_t both = std::min(have.size(), want.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (have[i] != want[i]) {
      return Bad(begun, fmt::format("the marked text is not the attempt's: it has '{}' where that has '{}'",
                                    have[i].substr(0, 60), want[i].substr(0, 60)));
    }
  }
  if (have.size() != want.size())
    return Bad(begun, fmt::format("the marked text has {} lines and the attempt {}", have.size(), want.size()));
  return {};
}

Result<double> ReadGain(std::string_view words, std::size_t line) {
  double gain = 0;
  const auto [end, error] = std::from_chars(words.data(), words.data() + words.size(), gain);
  if (error != std::errc() || end != words.data() + words.size() || !std::isfinite(gain) || gain <= 0)
    return Bad(line, fmt::format("gain is how many times as fast, like 1.4, not '{}'", words.substr(0, 40)));
  return gain;
}

}  // namespace

std::string RenderPlan(const ChangePlan& plan, int from) {
  std::string text = fmt::format("# The plan\n\n{}\n", plan.change);
  if (plan.gain > 0) text += fmt::format("\nIt is thought to be {:.3g} times as fast.\n", plan.gain);
  if (plan.marked.empty()) return text + fmt::format("\nThe candidate is to be a {}.\n", Name(plan.kind));
  return text + fmt::format("\n## Attempt {}, the places to change marked\n\n{}", from,
                            FencedText(Name(plan.kind), plan.marked));
}

bool HasAnchor(std::string_view text) {
  return text.find(kAnchorBegins) != text.npos || text.find(kAnchorEnds) != text.npos;
}

bool SameChange(std::string_view a, std::string_view b) {
  const auto words = [](std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)))
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return out;
  };
  return words(a) == words(b);
}

Result<std::optional<ChangePlan>> ParsePlan(std::string_view answer, const Attempt* from) {
  if (answer.size() > kLongestAnswer)
    return Fail(ErrorKind::kUsage,
                fmt::format("the plan has {} bytes, {} are the most", answer.size(), kLongestAnswer));
  if (Trimmed(answer) == kNothingMore) return std::optional<ChangePlan>();
  ChangePlan plan;
  bool has_kind = false, has_text = false;
  const auto lines = LinesOf(answer);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view words = Trimmed(lines[i]);
    if (words.empty()) continue;
    if (has_text) return Bad(i + 1, "nothing stands behind the fence");
    if (words.starts_with(kChange)) {
      plan.change = Trimmed(words.substr(kChange.size()));
      if (plan.change.empty() || plan.change.size() > kLongestIdea)
        return Bad(i + 1, fmt::format("a change has 1 to {} bytes", kLongestIdea));
    } else if (words.starts_with(kGain)) {
      plan.gain = HONE_TRY(ReadGain(Trimmed(words.substr(kGain.size())), i + 1));
    } else if (words.starts_with(kKind) && from == nullptr) {
      const auto kind = ParseCandidateKind(Trimmed(words.substr(kKind.size())));
      if (!kind) return Bad(i + 1, "a kind is program, module, plan or cuda_module");
      plan.kind = *kind;
      has_kind = true;
    } else if (Ticks(words) >= 3 && from != nullptr) {
      const std::size_t begun = i, ticks = Ticks(words);
      for (++i; i < lines.size() && !(Ticks(lines[i]) >= ticks && Trimmed(lines[i].substr(Ticks(lines[i]))).empty());
           ++i)
        plan.marked += fmt::format("{}\n", lines[i]);
      if (i == lines.size()) return Bad(begun + 1, "this fence is not closed");
      HONE_TRY(HoldMarked(plan.marked, from->proposal.candidate.text, begun + 1));
      plan.kind = from->proposal.candidate.kind;
      has_text = true;
    } else {
      return Bad(i + 1, fmt::format("'{}' does not belong here; leave out all else", words.substr(0, 40)));
    }
  }
  if (plan.change.empty()) return Fail(ErrorKind::kUsage, "the plan has no line \"change: ...\"");
  if (from != nullptr && !has_text)
    return Fail(ErrorKind::kUsage, "the plan has no fence with the attempt's text and the places marked in it");
  if (from == nullptr && !has_kind) return Fail(ErrorKind::kUsage, "the plan has no line \"kind: ...\"");
  return std::optional<ChangePlan>(std::move(plan));
}

std::string PlanForm() {
  return fmt::format(R"(A line "change: " with what is to be done and why, at most {} bytes; if you can, a line "gain: "
with how many times as fast that will be; then, in a fence, the attempt's whole text, to the letter, with a line {}
before each place to change and a line {} behind it:

change: load four columns at a time, since loads are 4 bytes wide
gain: 1.4
```program
program ...
{}
y = ...
{}
```

To begin with there is no text: in place of the fence a line "kind: " says what the candidate is to be, program (the kernel
language), module (C++ for the processor), cuda_module (CUDA C++ with host code) or plan (CUDA C++ without host code,
whose launches stand in comments, or JSON).
Nothing else stands in an answer. If there is nothing worth trying, the answer is the word {} alone.
)",
                     kLongestIdea, kAnchorBegins, kAnchorEnds, kAnchorBegins, kAnchorEnds, kNothingMore);
}

}  // namespace hone
