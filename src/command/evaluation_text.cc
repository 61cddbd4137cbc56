#include "command/evaluation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hone {
namespace {

constexpr double kLevelBelow = 0.995, kLevelAbove = 1.005;  // between them neither is faster: it reads 1.00x

void Line(std::string& text, std::string_view label, std::string_view words) {
  text += fmt::format("  {:<12} {}\n", label, words);
}

std::string SamplesText(const Samples& samples) {
  const std::string interval =
      samples.interval
          ? fmt::format("95 % interval {} to {}, ", TimeText(samples.interval->low), TimeText(samples.interval->high))
          : std::string();
  return fmt::format("{} ({}spread {} to {}, {} samples)", TimeText(samples.median_us), interval,
                     TimeText(samples.p10_us), TimeText(samples.p90_us), samples.count);
}

constexpr double kPreparedUs = 1;  // a module that prepares nothing takes less

void AppendEvidence(std::string& text, const Evidence& evidence) {
  if (!evidence.draw.empty()) Line(text, "inputs", evidence.draw);
  if (!evidence.output.empty()) {
    Line(text, "where", fmt::format("{}[{}]", evidence.output, fmt::join(evidence.index, ", ")));
  }
  if (evidence.expected) Line(text, "expected", fmt::format("{:.9g}", *evidence.expected));
  if (evidence.got) Line(text, "got", fmt::format("{:.9g}", *evidence.got));
  if (evidence.budget) Line(text, "allowed", fmt::format("an error of {:.3g}", *evidence.budget));
  if (evidence.wrong_elements) {
    Line(text, "wrong",
         evidence.elements ? fmt::format("{} of {} elements", *evidence.wrong_elements, *evidence.elements)
                           : fmt::format("{} elements", *evidence.wrong_elements));
  }
  if (evidence.signal) Line(text, "signal", std::to_string(*evidence.signal));
  if (evidence.exit_code) Line(text, "exit status", std::to_string(*evidence.exit_code));
  if (evidence.line) {
    Line(text, "line",
         evidence.column ? fmt::format("{}, column {}", *evidence.line, *evidence.column)
                         : std::to_string(*evidence.line));
  }
  if (!evidence.detail.empty()) Line(text, "detail", evidence.detail);
}

void AppendTiming(std::string& text, const Timing& timing) {
  Line(text, "warm", SamplesText(timing.warm));
  Line(text, "cold", SamplesText(timing.cold));
  if (!timing.launched.empty())
    Line(text, "launched", timing.launched == "graph" ? "as one CUDA graph" : "one after the other, on a stream");
  if (timing.prepare_us > 0) Line(text, "prepare", TimeText(timing.prepare_us) + " once");
  if (timing.energy) {
    Line(text, "energy", EnergyWords(*timing.energy));
    Line(text, "sensor", timing.energy->sensor);
  }
  Line(text, "threads", std::to_string(timing.threads));
  if (!timing.disturbed.empty()) Line(text, "disturbed", timing.disturbed);
  for (const Comparison& comparison : timing.against) {
    Line(text, "speed-up",
         fmt::format("{} at {}{}",
                     comparison.speedup ? SpeedWords(*comparison.speedup, comparison.baseline)
                                        : "no ratio to " + comparison.baseline,
                     TimeText(comparison.baseline_warm.median_us), ComparisonText(timing, comparison)));
  }
}

}  // namespace

std::string TimeText(double microseconds) {
  if (microseconds <= 0) return "-";
  if (microseconds < 1) return fmt::format("{:.0f} ns", microseconds * 1e3);
  if (microseconds < 1e3) return fmt::format("{:.{}f} us", microseconds, microseconds < 10 ? 2 : 1);
  if (microseconds < 1e6) return fmt::format("{:.{}f} ms", microseconds / 1e3, microseconds < 1e4 ? 2 : 1);
  return fmt::format("{:.2f} s", microseconds / 1e6);
}

std::string JoulesText(double joules) {
  if (joules <= 0) return "-";
  if (joules < 1e-3) return fmt::format("{:.3g} uJ", joules * 1e6);
  if (joules < 1) return fmt::format("{:.3g} mJ", joules * 1e3);
  if (joules < 1e3) return fmt::format("{:.3g} J", joules);
  return joules < 1e6 ? fmt::format("{:.3g} kJ", joules / 1e3) : fmt::format("{:.3g} MJ", joules / 1e6);
}

std::string EnergyWords(const Energy& energy) {
  std::string text = fmt::format("{} a call at {:.0f} W", JoulesText(energy.joules), energy.watts);
  if (energy.net_joules) {
    text += fmt::format(", {} without the {:.0f} W that the device takes at rest", JoulesText(*energy.net_joules),
                        *energy.idle_watts);
  }
  const auto [low, high] = std::minmax_element(energy.windows.begin(), energy.windows.end());
  if (energy.windows.size() > 1) text += fmt::format("; {} to {}", JoulesText(*low), JoulesText(*high));
  return text + fmt::format(" ({} window{} of {:.1f} s, a tick every {:.0f} ms)", energy.windows.size(),
                            energy.windows.size() == 1 ? "" : "s", energy.window_s, energy.tick_ms);
}

std::string SpeedupText(double speedup) {
  if (speedup <= 0) return "-";
  if (speedup < 0.1) return fmt::format("{:.2g}x", speedup);
  return fmt::format("{:.{}f}x", speedup, speedup < 10 ? 2 : 1);
}

std::string ComparisonText(const Timing& timing, const Comparison& comparison) {
  if (!comparison.speedup) return "; " + comparison.WhyNoRatio();
  std::string text = " (";
  if (comparison.interval) {
    const auto [low, high] = *comparison.interval;
    const bool slower = *comparison.speedup <= kLevelBelow;  // as SpeedWords says it
    text += fmt::format("95 % interval {} to {}, ", SpeedupText(slower ? 1 / high : low),
                        SpeedupText(slower ? 1 / low : high));
  }
  text += comparison.measured_on.empty() ? fmt::format("{} rounds", comparison.rounds)
                                         : "measured on " + comparison.measured_on;
  if (comparison.error_over_budget)
    text += fmt::format("; its error {:.2g} of the budget", *comparison.error_over_budget);
  if (timing.prepare_us > kPreparedUs) text += "; weights prepared once: " + TimeText(timing.prepare_us);
  return text + ")";
}

std::string SpeedWords(double speedup, std::string_view baseline) {
  if (speedup <= 0) return fmt::format("not compared with {}", baseline);
  if (speedup >= kLevelAbove) return fmt::format("{} faster than {}", SpeedupText(speedup), baseline);
  if (speedup <= kLevelBelow) return fmt::format("{} slower than {}", SpeedupText(1 / speedup), baseline);
  return fmt::format("as fast as {}", baseline);
}

std::string RankedText(const Evaluation& confirmed) {
  if (!confirmed.timing || confirmed.timing->disturbed.empty()) return "";
  return fmt::format("  disturbed; ranked by {}, the fastest tenth", TimeText(confirmed.timing->LikelyUs()));
}

std::string StagesText(const StageTimes& stages) {
  const auto from = [&](std::int64_t begun_ms) {
    if (begun_ms == 0 || stages.compile_begun_ms == 0) return std::string();
    return fmt::format(" from {}", begun_ms - stages.compile_begun_ms);
  };
  return fmt::format("{:.0f} ms: compile {:.0f}{}, check {:.0f}{}, timing {:.0f}{}", stages.total_ms, stages.compile_ms,
                     stages.compile_cached ? " (kept)" : "", stages.check_ms, from(stages.check_begun_ms),
                     stages.timing_ms, from(stages.timing_begun_ms));
}

std::string EvaluationForPeople(const Evaluation& evaluation) {
  const Verdict& verdict = evaluation.verdict;
  std::string text(Name(verdict.outcome));
  if (!verdict.reason.empty()) text += ": " + verdict.reason;
  text += '\n';
  if (verdict.accepted()) {
    Line(text, "error",
         fmt::format("{:.2g} of the budget, {:.2g} of an honest implementation's{}{}", verdict.error_over_budget,
                     verdict.error_over_honest, verdict.range.empty() ? "" : ", ", verdict.range));
    Line(text, "repeats", verdict.bit_reproducible ? "bit for bit" : "within the budget, not bit for bit");
    if (verdict.official_allclose)
      Line(text, "allclose",
           std::string(*verdict.official_allclose ? "within" : "beyond") +
               " KernelBench's tolerance of the exact values");
  }
  AppendEvidence(text, verdict.evidence);
  if (evaluation.timing) AppendTiming(text, *evaluation.timing);
  if (evaluation.how->stages.total_ms > 0) {
    Line(text, "took", StagesText(evaluation.how->stages));
  }
  if (!evaluation.how->sandbox.empty()) Line(text, "held by", evaluation.how->sandbox);
  return text;
}

}  // namespace hone
