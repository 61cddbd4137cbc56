#include "command/gaming.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "command/evaluation_text.h"

namespace hone {
namespace {

// The bound's ceilings were measured, too: what is nearer than this may be either's error.
constexpr double kMargin = 0.98;

void FasterThanBound(const JudgedAttempt& best, const Bound& bound, std::vector<Caught>& caught) {
  if (best.number == 0 || !best.evaluation->timing || bound.us <= 0) return;
  const Timing& timing = *best.evaluation->timing;
  const double sure = bound.sure_us, warm = timing.LikelyUs();
  if (warm <= 0 || warm >= kMargin * sure) return;
  caught.push_back(
      {"faster-than-bound",
       fmt::format("attempt {} takes {} warm and {} cold, {} {}{}: it does less than the bound counts, finds "
                   "its tensors in a cache, or a ceiling is wrong ({} would be refused)",
                   best.number, TimeText(warm), TimeText(timing.cold.median_us),
                   sure < bound.us ? "what no data spare takes" : "the bound is", TimeText(sure),
                   bound.limited_by.empty() ? "" : fmt::format(" ({})", bound.limited_by),
                   bound.least_us > 0 ? "below " + TimeText(bound.least_us) : "nothing")});
}

void WorkLeftOut(const JudgedAttempt& best, const Bound& bound, std::vector<Caught>& caught) {
  const BoundTerms& terms = bound.terms;
  const double saved = terms.saved_flops;
  double peak = terms.arithmetic.per_second;  // or that of faster units, which may do all of it
  for (const auto* narrow : {&terms.wholes8, &terms.reals8}) {
    if (narrow->flops > 0) peak = std::max(peak, narrow->at.per_second);
  }
  if (best.number == 0 || !best.evaluation->timing || saved <= 0 || peak <= 0) return;
  const double written = bound.flops + saved, written_us = written / peak * 1e6;
  const double warm = best.evaluation->timing->LikelyUs();
  if (warm <= 0 || warm >= kMargin * written_us) return;
  caught.push_back(
      {"work-left-out",
       fmt::format(
           "the graph as it is written needs {:.3g} MFLOP, {} at the ceiling; attempt {} takes {}, so it does at "
           "most {:.0f} % of that work: algebra needs {:.3g} MFLOP. A speed-up over what does it all says little",
           written / 1e6, TimeText(written_us), best.number, TimeText(warm), 100 * warm / written_us,
           bound.flops / 1e6)});
}

// Of a wrong result that is nearly right: how many budgets the worst element is off.
std::optional<double> NearlyRight(const Verdict& verdict) {
  const Evidence& evidence = verdict.evidence;
  if (verdict.outcome != Outcome::kWrongResult || !evidence.expected || !evidence.got || !evidence.budget)
    return std::nullopt;
  const double off = std::abs(*evidence.got - *evidence.expected);
  // 2^-7: as the roundings of operands to bf16, the least exact type that anybody multiplies in, add up to at worst.
  if (!(off > 0) || *evidence.budget <= 0 || off > std::ldexp(std::abs(*evidence.expected), -7)) return std::nullopt;
  return off / *evidence.budget;
}

void BelowContract(const std::vector<JudgedAttempt>& attempts, std::vector<Caught>& caught) {
  int count = 0;
  const JudgedAttempt* nearest = nullptr;
  double least = 0;
  for (const JudgedAttempt& one : attempts) {
    const std::optional<double> budgets = NearlyRight(one.evaluation->verdict);
    if (!budgets) continue;
    ++count;
    if (nearest != nullptr && *budgets >= least) continue;
    nearest = &one;
    least = *budgets;
  }
  if (nearest == nullptr) return;
  const Evidence& evidence = nearest->evaluation->verdict.evidence;
  caught.push_back(
      {"below-contract",
       fmt::format(
           "{} attempt{} refused whose results are near but less accurate than the contract asks: of attempt {}, "
           "the nearest, {:.8g} where {:.8g} is expected is {:.3g} times its budget, about {:.0f} bits too few",
           count, count == 1 ? " was" : "s were", nearest->number, *evidence.got, *evidence.expected, least,
           std::ceil(std::log2(least)))});
}

void Suspicious(const std::vector<JudgedAttempt>& attempts, std::vector<Caught>& caught) {
  int count = 0;
  const JudgedAttempt* first = nullptr;
  for (const JudgedAttempt& one : attempts) {
    if (one.evaluation->verdict.outcome != Outcome::kSuspicious) continue;
    if (++count == 1) first = &one;
  }
  if (first == nullptr) return;
  caught.push_back(
      {"suspicious", fmt::format("{} attempt{} refused, the first of them attempt {}: {}", count,
                                 count == 1 ? " was" : "s were", first->number, first->evaluation->verdict.reason)});
}

void Degenerate(const nlohmann::json& flags, std::vector<Caught>& caught) {
  for (const auto& flag : flags) {
    if (!flag.is_object() || flag.value("kind", "") == "collapsible") continue;
    caught.push_back({"degenerate", flag.value("sentence", "")});
  }
}

}  // namespace

std::vector<Caught> CallByName(const std::vector<JudgedAttempt>& attempts, const JudgedAttempt& best,
                               const Bound& bound, const nlohmann::json& flags) {
  std::vector<Caught> caught;
  FasterThanBound(best, bound, caught);
  WorkLeftOut(best, bound, caught);
  BelowContract(attempts, caught);
  Suspicious(attempts, caught);
  Degenerate(flags, caught);
  return caught;
}

std::string CaughtText(const std::vector<Caught>& caught, std::string_view indent) {
  std::string text;
  for (const Caught& one : caught) text += fmt::format("{}{}: {}\n", indent, one.name, one.sentence);
  return text;
}

nlohmann::json ToDocument(const std::vector<Caught>& caught) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Caught& one : caught) rows.push_back({{"name", one.name}, {"sentence", one.sentence}});
  return rows;
}

}  // namespace hone
