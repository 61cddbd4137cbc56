#include "search/stop_replay.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <sstream>

namespace hone {

StoppedAt StopBy(const Budget& budget, const std::vector<StopPoint>& attempts, double bound) {
  const auto stoppers = MakeStoppers(budget, nullptr);
  StoppedAt at;
  Progress progress;
  for (const StopPoint& attempt : attempts) {
    const SearchState state{.attempts = at.attempts,
                            .idle = progress.Idle(at.attempts),
                            .elapsed_s = at.seconds,
                            .joules = at.joules,
                            .best_us = at.best,
                            .bound_us = bound};
    for (const auto& stopper : stoppers) {
      if (const auto stop = stopper->Ask(state)) {
        at.reason = stop->reason;
        return at;
      }
    }
    ++at.attempts;
    at.seconds += attempt.seconds;
    at.joules += attempt.joules;
    if (attempt.value > 0 && (at.best == 0 || attempt.value < at.best)) at.best = attempt.value;
    progress.Note(at.attempts, attempt.value);
  }
  return at;
}

Result<Budget> ParseBudget(std::string_view who, const std::string& words, const Budget& otherwise,
                           std::string_view also) {
  const auto usage = [&](const std::string& what) { return Fail(ErrorKind::kUsage, fmt::format("{}: {}", who, what)); };
  Budget budget = otherwise;
  std::istringstream stream(words);
  for (std::string word, text; stream >> word;) {
    const std::string name = word.starts_with("--") ? word.substr(2) : word;
    if (name != "budget" && name != "time" && name != "joules" && name != "headroom" && name != "idle")
      return usage(fmt::format("'{}' is none of --budget, --time, --joules, --headroom, --idle{}", word, also));
    if (!(stream >> text)) return usage(fmt::format("--{} needs a value", name));
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !std::isfinite(value))
      return usage(fmt::format("'{}' is no number", text));
    if (value < 0) return usage(fmt::format("--{} is 0 at least, not {}", name, text));
    const bool whole = value == std::floor(value) && value <= 1e9;
    if (name == "budget" && !(whole && value >= 1)) return usage("--budget is a number of attempts, 1 at least");
    if (name == "idle" && !(whole && value >= 0)) return usage("--idle is a number of attempts, 0 at least");
    if (name == "budget") budget.attempts = static_cast<int>(value);
    if (name == "idle") budget.idle = static_cast<int>(value);
    if (name == "time") budget.seconds = value;
    if (name == "joules") budget.joules = value;
    if (name == "headroom") budget.headroom = value;
  }
  return budget;
}

}  // namespace hone
