#include "command/outcome_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/flags.h"
#include "command/gaming.h"
#include "command/start.h"
#include "command/store_words.h"
#include "propose/expert/expert.h"
#include "search/loop.h"
#include "search/objective.h"
#include "search/start.h"
#include "target/bound.h"
#include "target/device_model.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// The evaluation that speaks for the run: the winner's confirmation if there is one, else its own.
const Evaluation* Winning(const SearchOutcome& outcome) {
  for (auto it = outcome.confirmed.rbegin(); it != outcome.confirmed.rend(); ++it) {
    if (it->attempt == outcome.run.best_attempt) return &it->evaluation;
  }
  return outcome.run.best_attempt > 0 ? &outcome.tree.node(outcome.run.best_attempt).attempt.evaluation : nullptr;
}

// The nest that the definitions are, which stands in where no kernel of hone's computes the problem.
bool IsLoopNest(const SearchOutcome& outcome) {
  return outcome.run.best_attempt > 0 &&
         outcome.tree.node(outcome.run.best_attempt).attempt.proposal.key == kLoopNestKey;
}

// What the winner takes, beside the fastest of the finalists.
std::string EnergyText(const SearchOutcome& outcome, const Objective& objective) {
  if (!objective.NeedsEnergy()) return "";
  const Evaluation* best = Winning(outcome);
  const Energy* energy = best && best->timing && best->timing->energy ? &*best->timing->energy : nullptr;
  if (energy == nullptr) return "  energy   not measured, so the fastest stands for the best\n";
  std::string text = fmt::format("  energy   {}\n", EnergyWords(*energy));
  const Confirmed* fastest = nullptr;
  for (const Confirmed& one : outcome.confirmed) {
    if (!one.evaluation.timing || !one.evaluation.timing->energy) continue;
    if (fastest == nullptr || one.evaluation.timing->LikelyUs() < fastest->evaluation.timing->LikelyUs())
      fastest = &one;
  }
  if (fastest != nullptr && fastest->attempt != outcome.run.best_attempt) {
    const Timing& other = *fastest->evaluation.timing;
    text += fmt::format("  saved    {:.1f} % of attempt {}, the fastest, at {} a call; for {:.1f} % more time\n",
                        100 * (1 - energy->joules / other.energy->joules), fastest->attempt,
                        JoulesText(other.energy->joules), 100 * (best->timing->LikelyUs() / other.LikelyUs() - 1));
  } else {
    text += fmt::format("  saved    nothing: none of {} finalists takes less\n", outcome.confirmed.size());
  }
  return text + fmt::format("  sensor   {}\n", energy->sensor);
}

std::string TimingText(const SearchOutcome& outcome, const Timing& timing, const Bound& bound) {
  std::string text = fmt::format(
      "  best     attempt {}: {} warm, {} cold{}{}\n", outcome.run.best_attempt, Microseconds(timing.warm.median_us),
      Microseconds(timing.cold.median_us),
      bound.us > 0
          ? fmt::format(
                "; {:.0f} % of the bound's speed{}", 100 * bound.us / timing.warm.median_us,
                bound.us > timing.warm.median_us && bound.sure_us < bound.us ? ", of which data may spare some" : "")
          : "",
      timing.launched == "graph" ? "; as one CUDA graph" : "");
  for (const Comparison& one : timing.against) {
    const std::string there = Microseconds(one.baseline_warm.median_us);
    text += fmt::format("  speed    {} at {}{}\n",
                        one.speedup ? SpeedWords(*one.speedup, one.baseline) : "no ratio to " + one.baseline, there,
                        ComparisonText(timing, one));
  }
  if (const Comparison* fastest = timing.OverBest(); fastest && timing.against.size() > 1) {
    text += fmt::format("  overall  the fastest baseline is {}{}: {}\n", fastest->baseline,
                        fastest->baseline == "eager_tf32" ? ", in TF32 where it multiplies" : "",
                        SpeedWords(*fastest->speedup, "it"));
  }
  return text;
}

// What there is instead of a win, and why.
std::string NoWinText(const SearchOutcome& outcome) {
  std::string text;
  const Evaluation* best = Winning(outcome);
  if (!outcome.winner_confirmed) {
    text +=
        fmt::format("  result   not confirmed on fresh inputs ({}); the same command does that\n", outcome.stop.reason);
  } else if (best && best->timing && !best->timing->against.empty()) {
    const Comparison& first = best->timing->against[0];
    if (!first.speedup) {
      text += fmt::format("  result   nothing was shown to be faster than {}: {}\n", first.baseline,
                          first.wrong.empty() ? first.disturbed + FarApart(*best->timing, first) : first.WhyNoRatio());
    } else if (*first.speedup > 1 && first.interval) {
      text += fmt::format("  result   perhaps nothing faster than {}: the best has {:.2f}x to {:.2f}x its speed\n",
                          first.baseline, first.interval->low, first.interval->high);
    } else if (*first.speedup > 1) {
      text += fmt::format("  result   perhaps nothing faster than {}: {} rounds are too few to say\n", first.baseline,
                          first.rounds);
    } else {
      text += fmt::format("  result   nothing faster than {} was found: the best is {}\n", first.baseline,
                          SpeedWords(*first.speedup, "it"));
    }
  }
  if (!IsLoopNest(outcome)) return text;
  return text + fmt::format(
                    "  why      the best is the naive loop nest: hone has no kernel for this problem's operators on "
                    "--target {}\n",
                    outcome.run.target);
}

// Attempts and what was measured again: either may have been refused.
std::vector<Caught> CaughtIn(const SearchOutcome& outcome, const Bound& bound) {
  std::vector<JudgedAttempt> attempts;
  for (const TreeNode& node : outcome.tree.nodes()) attempts.push_back({node.attempt.number, &node.attempt.evaluation});
  for (const Confirmed& again : outcome.confirmed) attempts.push_back({again.attempt, &again.evaluation});
  const Evaluation* best = Winning(outcome);
  return CallByName(attempts, {best ? outcome.run.best_attempt : 0, best}, bound, FlagsOfRun(outcome.run.flags));
}

}  // namespace

std::string Microseconds(double us) {
  if (us >= 1e6) return fmt::format("{:.3g} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.3g} ms", us / 1e3);
  return fmt::format("{:.3g} us", us);
}

std::string FarApart(const Timing& timing, const Comparison& disturbed) {
  constexpr double kFar = 2;
  const double theirs_us = disturbed.baseline_warm.p10_us, ours_us = timing.warm.p90_us;
  if (ours_us <= 0 || theirs_us < kFar * ours_us) return "";
  return fmt::format(
      "; but nine in ten calls of {} took {} or more, and of the best {} or less, {:.1f} times as little",
      disturbed.baseline, Microseconds(theirs_us), Microseconds(ours_us), theirs_us / ours_us);
}

bool IsWin(const SearchOutcome& outcome) {
  const Evaluation* best = Winning(outcome);
  if (!best || !outcome.winner_confirmed || !best->verdict.accepted() || !best->timing) return false;
  if (const auto start = CompareWithStart(outcome); start && start->start_us > 0 && !start->faster) return false;
  const auto& against = best->timing->against;
  return against.empty() ? outcome.run.baselines == "{}" : against[0].Faster();
}

nlohmann::json OutcomeDocument(const SearchOutcome& outcome, const Bound& bound, const DeviceModel& machine,
                               const std::string& store, std::size_t lanes) {
  const bool cuda = machine.kind == DeviceKind::kCuda;
  Json document = {{"run", outcome.run.id},
                   {"problem", outcome.run.problem_name},
                   {"target", outcome.run.target},
                   {"machine",
                    {{"id", machine.id},
                     {"processor", machine.processor},
                     {cuda ? "multiprocessors" : "threads", cuda ? machine.multiprocessors : machine.threads}}},
                   {"store", store},
                   {"attempts", outcome.tree.attempts()},
                   {"replayed", outcome.replayed},
                   {"search_s", outcome.search_s},
                   {"own_s", outcome.own_s},
                   {"look_s", outcome.look_s},
                   {"lanes", lanes},
                   {"stop", outcome.stop.reason},
                   {"stop_cause", Name(outcome.stop.cause)},
                   {"bound_us", bound.us},
                   {"bound_limited_by", bound.limited_by},
                   {"best_attempt", outcome.run.best_attempt},
                   {"confirmed", outcome.winner_confirmed},
                   {"unmeasured", outcome.unmeasured},
                   {"faster", IsWin(outcome)},
                   {"loop_nest", IsLoopNest(outcome)},
                   {"flags", FlagsOfRun(outcome.run.flags)},
                   {"caught", ToDocument(CaughtIn(outcome, bound))}};
  if (outcome.joules > 0) document["joules"] = outcome.joules;
  if (outcome.started) document["start"] = StartDocument(outcome);
  if (const Evaluation* best = Winning(outcome)) {
    document["best"] = ToJson(*best);
    if (best->timing && !best->timing->against.empty()) {
      const Comparison& headline = best->timing->against.front();
      if (headline.speedup) document["headline"] = {{"baseline", headline.baseline}, {"speedup", *headline.speedup}};
      if (const Comparison* honest = best->timing->OverBest())
        document["honest"] = {{"baseline", honest->baseline}, {"speedup", *honest->speedup}};
    }
    const Candidate& candidate = outcome.tree.node(outcome.run.best_attempt).attempt.proposal.candidate;
    document["best"]["kind"] = Name(candidate.kind);
    document["best"]["source"] = candidate.text;
  }
  return document;
}

std::string OutcomeText(const SearchOutcome& outcome, const Bound& bound, const DeviceModel& machine,
                        const std::string& store, const Objective& objective) {
  std::string text = fmt::format("{} on {} ({})\n", outcome.run.problem_name, machine.processor, WidthOf(machine));
  text += bound.us > 0 ? fmt::format("  bound    {}: {}\n", Microseconds(bound.us), bound.limited_by)
                       : fmt::format("  bound    {}\n", bound.why);
  for (const auto& flag : FlagsOfRun(outcome.run.flags)) {
    text += fmt::format("  flagged  {}; times and speed-ups say little\n", flag.value("sentence", ""));
  }
  const int tried = outcome.tree.attempts() - outcome.replayed;
  const std::string rate = tried > 1 && outcome.search_s > 0
                               ? fmt::format(" ({:.0f} a minute)", 60 * tried / outcome.search_s)
                               : std::string();
  text +=
      fmt::format("  search   {} attempts{}, then stopped: {}\n", outcome.tree.attempts(), rate, outcome.stop.reason);
  if (outcome.joules > 0) text += fmt::format("  used     {} of the device's energy\n", JoulesText(outcome.joules));
  const std::string hone = ProgramAsTyped(), in_store = StoreWords(store);
  const Evaluation* best = Winning(outcome);
  if (!best) {
    text += StartText(outcome) + CaughtText(CaughtIn(outcome, bound), "  caught   ");
    return text + fmt::format("  best     none: no attempt was accepted\n  next     {} show {}{}, which says why\n",
                              hone, outcome.run.id, in_store);
  }
  if (best->timing) text += TimingText(outcome, *best->timing, bound);
  if (!outcome.unmeasured.empty())
    text += fmt::format("  untimed  {}: {}; the same command goes on with that\n", fmt::join(outcome.unmeasured, ", "),
                        outcome.why_unmeasured);
  text += StartText(outcome);
  text += EnergyText(outcome, objective);
  const Verdict& verdict = best->verdict;
  const std::string& sandbox = best->how->sandbox;
  text += fmt::format("  proof    {}{}{}{}\n", Name(verdict.outcome),
                      outcome.winner_confirmed ? " twice, the second time on fresh inputs" : " once",
                      sandbox.empty() ? "" : "; held by ", sandbox);
  text += fmt::format("  error    at most {:.2f} of its budget, {}\n", verdict.error_over_budget,
                      verdict.bit_reproducible ? "same bits each time" : "not the same bits each time");
  for (const auto& note : best->how->notes) text += fmt::format("  note     {}\n", note);
  for (const auto& line : best->how->certificate) text += fmt::format("  certified {}\n", line);
  text += CaughtText(CaughtIn(outcome, bound), "  caught   ");
  if (IsWin(outcome))
    return text +
           fmt::format("  next     {0} show {1} best{2}; {0} export {1} -o DIR{2}\n", hone, outcome.run.id, in_store);
  return text + NoWinText(outcome) + fmt::format("  next     {} show {} best{}\n", hone, outcome.run.id, in_store);
}

}  // namespace hone
