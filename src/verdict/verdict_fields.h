// The fields of what an evaluation says, for base/record.h. docs/evaluation.md has their meaning; the run store and
// reports keep the documents, so a name here is for good.
#pragma once

#include "base/record.h"
#include "verdict/verdict.h"

namespace hone {

template <SameAs<Samples> Of>
void Fields(Of& samples, auto&& field) {
  field("median_us", samples.median_us);
  field("low_us", "high_us", samples.interval);
  field("p10_us", samples.p10_us);
  field("p90_us", samples.p90_us);
  field("count", samples.count);
}

template <SameAs<Comparison> Of>
void Fields(Of& comparison, auto&& field) {
  field("baseline", comparison.baseline);
  field("baseline_warm", comparison.baseline_warm);
  field("baseline_cold", comparison.baseline_cold);
  field("baseline_hidden", comparison.baseline_hidden);
  field("baseline_dispatched", comparison.baseline_dispatched);
  field("speedup", comparison.speedup, kAlways);
  field("speedup_low", "speedup_high", comparison.interval);
  field("rounds", comparison.rounds);
  field("disturbed", comparison.disturbed);
  field("error_over_budget", comparison.error_over_budget);
  field("wrong", comparison.wrong);
  field("measured_on", comparison.measured_on);
}

template <SameAs<KnownBaseline> Of>
void Fields(Of& known, auto&& field) {
  field("warm", known.warm);
  field("cold", known.cold);
  field("dispatched", known.dispatched);
  field("measured_on", known.measured_on);
}

template <SameAs<Clocks> Of>
void Fields(Of& clocks, auto&& field) {
  field("sm_mhz_low", clocks.sm_mhz_low);
  field("sm_mhz_high", clocks.sm_mhz_high);
  field("limits", clocks.limits);
  field("discarded_rounds", clocks.discarded_rounds);
}

template <SameAs<Energy> Of>
void Fields(Of& energy, auto&& field) {
  field("joules", energy.joules);
  field("net_joules", energy.net_joules);
  field("idle_watts", energy.idle_watts);
  field("watts", energy.watts);
  field("call_us", energy.call_us);
  field("windows", energy.windows);
  field("window_s", energy.window_s);
  field("tick_ms", energy.tick_ms);
  field("sensor", energy.sensor);
}

template <SameAs<EnergyOrWhy> Of>
void Fields(Of& one, auto&& field) {
  field("energy", one.energy);
  field("why", one.why);
}

template <SameAs<Timing> Of>
void Fields(Of& timing, auto&& field) {
  field("warm", timing.warm);
  field("cold", timing.cold);
  field("energy", timing.energy);
  field("prepare_us", timing.prepare_us);
  field("threads", timing.threads);
  field("ended_early", timing.ended_early);
  field("launched", timing.launched);
  field("clocks", timing.clocks);
  field("disturbed", timing.disturbed);
  field("against", timing.against);
}

template <SameAs<Evidence> Of>
void Fields(Of& evidence, auto&& field) {
  field("draw", evidence.draw);
  field("output", evidence.output);
  field("index", evidence.index, kIfAny);
  field("expected", evidence.expected);
  field("got", evidence.got);
  field("budget", evidence.budget);
  field("wrong_elements", evidence.wrong_elements);
  field("elements", evidence.elements);
  field("signal", evidence.signal);
  field("exit_code", evidence.exit_code);
  field("line", evidence.line);
  field("column", evidence.column);
  field("detail", evidence.detail);
  field("log", evidence.log);
}

template <SameAs<StageTimes> Of>
void Fields(Of& stages, auto&& field) {
  field("compile_ms", stages.compile_ms);
  field("check_ms", stages.check_ms);
  field("timing_ms", stages.timing_ms);
  field("total_ms", stages.total_ms);
  field("compile_cached", stages.compile_cached);
  field("compile_begun_ms", stages.compile_begun_ms, WrittenUnless<std::int64_t>{0});
  field("check_begun_ms", stages.check_begun_ms, WrittenUnless<std::int64_t>{0});
  field("timing_begun_ms", stages.timing_begun_ms, WrittenUnless<std::int64_t>{0});
}

// What is known of an accepted candidate; under "accuracy".
template <SameAs<Verdict> Of>
void Fields(Of& verdict, auto&& field) {
  field("error_over_budget", verdict.error_over_budget);
  field("error_over_honest", verdict.error_over_honest);
  field("bit_reproducible", verdict.bit_reproducible);
  field("range", verdict.range);
  field("official_allclose", verdict.official_allclose);
}

template <SameAs<Evaluation> Of>
void Fields(Of& evaluation, auto&& field) {
  field("outcome", evaluation.verdict.outcome, ByName<Outcome>{Name, ParseOutcome});
  field("reason", evaluation.verdict.reason, kAlways);
  field("evidence", evaluation.verdict.evidence);
  field("stages", evaluation.how->stages);
  field("sandbox", evaluation.how->sandbox, kAlways);
  field("dice", evaluation.how->dice);
  field("joules", evaluation.how->joules);
  if (evaluation.verdict.accepted()) field("accuracy", evaluation.verdict);
  field("timing", evaluation.timing);
  field("certificate", evaluation.how->certificate, kIfAny);
  field("notes", evaluation.how->notes, kIfAny);
}

}  // namespace hone
