#include "search/testing/scripted_evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "propose/random.h"
#include "search/testing/scripted_space.h"

namespace hone::testing {
namespace {

// Thousandths between 1000 - width and 1000 + width, by text, seed and which measurement it is.
std::int64_t Noise(std::string_view text, std::uint64_t seed, int width) {
  if (width <= 0) return 1000;
  std::uint64_t hash = Random::Mix(seed + 1);
  for (const char c : text) hash = Random::Mix(hash ^ static_cast<unsigned char>(c));
  return 1000 - width + static_cast<std::int64_t>(Random(hash).Below(static_cast<std::size_t>(2 * width + 1)));
}

// Samples around a median, all of it from whole nanoseconds.
Samples Around(std::int64_t nanoseconds) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
  return {.median_us = us(nanoseconds),
          .interval = Interval{us(nanoseconds * 995 / 1000), us(nanoseconds * 1005 / 1000)},
          .p10_us = us(nanoseconds * 98 / 100),
          .p90_us = us(nanoseconds * 103 / 100),
          .count = 100};
}

}  // namespace

Result<Evaluation> ScriptedEvaluator::Evaluate(const Candidate& candidate, const EvaluateRequest& request) {
  ++evaluations;
  if (before) HONE_TRY(before(evaluations));
  Evaluation evaluation;
  evaluation.how->sandbox = std::string("none: scripted");
  evaluation.how->stages.compile_ms = 30;
  if (joules_each > 0) evaluation.how->joules = joules_each;
  Verdict& verdict = evaluation.verdict;
  const std::optional<ScriptedPoint> point = ScriptedPoint::Parse(candidate.text);
  verdict.outcome = point ? point->Verdict() : Outcome::kInvalid;
  if (!verdict.accepted()) {
    verdict.reason = fmt::format("{}, as scripted", Name(verdict.outcome));
    if (verdict.outcome == Outcome::kWrongResult) {
      verdict.evidence->output = std::string("y");
      verdict.evidence->index = {3, 5};
      verdict.evidence->expected = 1.5;
      verdict.evidence->got = 0;
      verdict.evidence->budget = 1e-5;
    } else if (verdict.outcome == Outcome::kCrash) {
      verdict.evidence->signal = 11;
    } else if (verdict.outcome == Outcome::kCompileError) {
      verdict.evidence->line = 1;
      verdict.evidence->log = fmt::format("1: {}: cannot be compiled, as scripted\n", candidate.text);
    }
    return evaluation;
  }
  verdict.error_over_budget = 0.25;
  verdict.error_over_honest = 1;
  verdict.range = "componentwise";
  verdict.bit_reproducible = true;
  if (!request.time) return evaluation;

  const std::uint64_t seed = request.fresh_draws ? Random::Mix(seed_ + 0x5eed) : seed_;
  const std::int64_t warm = point->Nanoseconds() * Noise(candidate.text, seed, noise_thousandths) / 1000;
  Timing timing;
  timing.warm = Around(warm);
  timing.cold = Around(warm * 13 / 10);
  if (disturbed_confirmations && request.fresh_draws) timing.disturbed = "the machine was not quiet in 9 of 10 rounds";
  for (const std::string& baseline : request.baselines) {
    Comparison& comparison = timing.against.emplace_back();
    comparison.baseline = baseline;
    comparison.baseline_warm = Around(kScriptedBaselineNanoseconds);
    comparison.speedup = comparison.baseline_warm.median_us / timing.warm.median_us;
    comparison.interval = Interval{comparison.baseline_warm.interval->low / timing.warm.interval->high,
                                   comparison.baseline_warm.interval->high / timing.warm.interval->low};
    comparison.rounds = 10;
    if (timing.disturbed.empty()) continue;
    comparison.disturbed = timing.disturbed;
    comparison.speedup.reset();
    comparison.interval.reset();
  }
  evaluation.timing = std::move(timing);
  return evaluation;
}

Result<std::vector<EnergyOrWhy>> ScriptedEvaluator::MeasureEnergy(const std::vector<Candidate>& candidates,
                                                                  const std::vector<double>& call_us,
                                                                  const EnergyRequest& request) {
  Asked& asked = energies.emplace_back();
  asked.request = request;
  std::vector<EnergyOrWhy> measured;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    asked.texts.push_back(candidates[i].text);
    const auto taken = joules(candidates[i].text);
    if (taken) {
      Energy energy{.joules = *taken, .watts = *taken / call_us[i] * 1e6, .call_us = call_us[i]};
      energy.windows = {*taken, *taken, *taken};
      energy.window_s = 5;
      energy.tick_ms = 100;
      energy.sensor = "scripted";
      measured.push_back({.energy = std::move(energy), .why = ""});
    } else {
      measured.push_back({.energy = {}, .why = "the meter slept"});
    }
  }
  if (before_energy) HONE_TRY(before_energy());
  return measured;
}

}  // namespace hone::testing
