// What was found and why it is right: the verdict on the best attempt, its speed-up beside each baseline, and what was
// held against the oracle.
#include <nlohmann/json.hpp>

#include "report/page.h"
#include "verdict/baselines.h"

namespace hone::page_section_10_proof {
namespace {

using Json = nlohmann::json;

template <typename T>
Json Nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json SamplesJson(const Samples& samples) {
  return {{"us", samples.median_us},
          {"low", samples.interval ? Json(samples.interval->low) : Json()},
          {"high", samples.interval ? Json(samples.interval->high) : Json()},
          {"p10", samples.p10_us},
          {"p90", samples.p90_us},
          {"count", samples.count}};
}

Json TimingJson(const Timing& timing) {
  const Comparison* honest = timing.OverBest();
  Json against = Json::array();
  for (const Comparison& comparison : timing.against) {
    against.push_back({{"name", comparison.baseline},
                       {"words", BaselineWords(comparison.baseline)},
                       {"us", comparison.baseline_warm.median_us},
                       {"speedup", Nullable(comparison.speedup)},
                       {"low", comparison.interval ? Json(comparison.interval->low) : Json()},
                       {"high", comparison.interval ? Json(comparison.interval->high) : Json()},
                       {"rounds", comparison.rounds},
                       {"why", comparison.speedup ? std::string() : comparison.WhyNoRatio()},
                       {"honest", honest == &comparison}});
  }
  Json json = {{"warm", SamplesJson(timing.warm)},
               {"cold", SamplesJson(timing.cold)},
               {"prepare_us", timing.prepare_us},
               {"disturbed", timing.disturbed},
               {"against", std::move(against)}};
  if (timing.energy) json["energy"] = ToJson(*timing.energy);
  return json;
}

// What was measured again at the end of the run, on fresh inputs.
Json ConfirmationsJson(const RunMaterial& material) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < material.confirmations.size(); ++i) {
    const ConfirmationRecord& one = material.confirmations[i];
    rows.push_back({{"attempt", one.attempt},
                    {"outcome", one.outcome},
                    {"us", one.median_us},
                    {"cold_us", one.cold_us},
                    {"ranked_us", i < material.ranked_us.size() ? material.ranked_us[i] : 0},
                    {"speedup", one.speedup},
                    {"joules", Nullable(one.joules)},
                    {"ended_ms", one.ended_ms}});
  }
  return rows;
}

Json Data(const RunMaterial& material) {
  const Verdict& verdict = material.proof.verdict;
  Json data = {{"contract", Name(material.problem.contract)},
               {"flags", material.flags},
               {"confirmed", material.confirmed},
               {"attempts", material.summary.attempts},
               {"accepted", material.summary.accepted}};
  data["confirmations"] = ConfirmationsJson(material);
  if (material.run.best_attempt == 0) return data;
  data["outcome"] = Name(verdict.outcome);
  data["error_over_budget"] = verdict.error_over_budget;
  data["error_over_honest"] = verdict.error_over_honest;
  data["range"] = verdict.range;
  data["bit_reproducible"] = verdict.bit_reproducible;
  data["official_allclose"] = Nullable(verdict.official_allclose);
  data["sandbox"] = material.proof.how->sandbox;
  data["certificate"] = material.proof.how->certificate;
  data["notes"] = material.proof.how->notes;
  if (material.proof.timing) data["timing"] = TimingJson(*material.proof.timing);
  return data;
}

}  // namespace

HONE_ROW(PageSection){.name = "proof", .title = "What was found, and its proof", .data = Data};

}  // namespace hone::page_section_10_proof
