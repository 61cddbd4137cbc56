#include "diagnose/rule.h"

#include <algorithm>

#include "base/check.h"

namespace hone {
namespace {

bool Has(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool Suggests(const Rule& rule, const Move& move) {
  return std::any_of(rule.moves.begin(), rule.moves.end(), [&](const RuleMove& one) {
    return one.knob == move.knob && (one.value == "*" || one.value == move.value);
  });
}

}  // namespace

double Facts::operator[](std::string_view name) const {
  HONE_CHECK(Has(rule_->needs, name), name);
  return *profile_->Get(name);
}

std::optional<double> Facts::Maybe(std::string_view name) const {
  HONE_CHECK(Has(rule_->uses, name), name);
  return profile_->Get(name);
}

std::string_view Facts::Word(std::string_view name) const {
  HONE_CHECK(Has(rule_->needs, name) || Has(rule_->uses, name), name);
  return profile_->Word(name);
}

std::vector<std::string_view> Lacking(const Rule& rule, const Profile& profile) {
  std::vector<std::string_view> lacking;
  for (const std::string_view name : rule.needs) {
    if (profile.Find(name) == nullptr) lacking.push_back(name);
  }
  return lacking;
}

std::optional<Finding> AskRule(const Rule& rule, const Profile& profile) {
  if (profile.scope != rule.scope || !Lacking(rule, profile).empty()) return std::nullopt;
  const double value = *profile.Get(rule.threshold.fact);
  const bool beyond =
      rule.threshold.side == Threshold::Side::kAbove ? value > rule.threshold.value : value < rule.threshold.value;
  if (!beyond) return std::nullopt;
  auto found = rule.check(Facts(rule, profile));
  if (!found) return std::nullopt;
  Finding finding{.rule = std::string(rule.name),
                  .evidence = std::move(found->evidence),
                  .advice = std::move(found->advice),
                  .title = std::string(rule.title),
                  .subject = profile.subject,
                  .lost = std::clamp(found->lost, 0.0, 0.99)};
  if (found->moves) {
    for (const Move& move : *found->moves) HONE_CHECK(Suggests(rule, move), rule.name);
    finding.moves = std::move(*found->moves);
  } else {
    for (const RuleMove& move : rule.moves) finding.moves.push_back({std::string(move.knob), std::string(move.value)});
  }
  for (const std::string_view name : rule.needs)
    finding.confidence = std::min(finding.confidence, profile.Find(name)->confidence);
  return finding;
}

}  // namespace hone
