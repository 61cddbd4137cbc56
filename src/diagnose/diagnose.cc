#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/check.h"

namespace hone {
namespace {

// What saves less than this is not worth a line: times are measured to about 2 %.
constexpr double kWorth = 0.01;

bool Serves(const Rule& rule, const Class* decided) {
  if (decided == nullptr || decided->confidence < kTrusted) return true;
  const auto has = [&](Bottleneck one) {
    return std::find(rule.classes.begin(), rule.classes.end(), one) != rule.classes.end();
  };
  if (decided->bottleneck == Bottleneck::kBalanced) return has(Bottleneck::kCompute) || has(Bottleneck::kMemory);
  return has(decided->bottleneck);
}

// The subject's time: as measured, else what its work takes at least.
double TimeUs(const Profile& profile, double lost) {
  if (const auto measured = profile.Get("time_us")) return *measured;
  // A candidate has to be launched once at least.
  const double launch_us = profile.scope == Scope::kPlan ? profile.Get("launch_us").value_or(0) : 0;
  for (const char* name : {"bound_us", "step_limit_us"}) {
    // Without what is lost it would take that.
    if (const auto limit = profile.Get(name)) return (*limit + launch_us) / (1 - lost);
  }
  return 0;
}

// A fault that is over in the shadow of another limit costs nothing: no mend makes the subject faster than its bytes
// and FLOPs allow at the device's ceilings.
double MostLost(const Rule& rule, const Profile& profile) {
  const auto time = profile.Get("time_us");
  if (rule.leaves_out || !time || *time <= 0) return 1;
  // The step's own is at the rate of a copy, which who nearly only reads exceeds.
  constexpr double kReads = 0.9;
  const auto step = profile.Get("step_limit_us"), bound = profile.Get("bound_us");
  const bool reads = profile.Get("load_share").value_or(0) > kReads;
  const auto least = step && !(reads && bound) ? step : bound;
  return least ? std::max(0.0, 1 - *least / *time) : 1;
}

bool SumsUp(const Finding& finding) {
  const auto rules = AllRules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const Rule* rule) { return rule->sums_up && rule->name == finding.rule; });
}

void Rank(std::vector<Finding>& findings) {
  const bool timed =
      std::all_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.loss_us > 0; });
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    const double of_a = a.confidence * (timed ? a.loss_us : a.lost), of_b = b.confidence * (timed ? b.loss_us : b.lost);
    const bool sum_a = SumsUp(a), sum_b = SumsUp(b);
    return std::tie(sum_a, of_b, a.rule) < std::tie(sum_b, of_a, b.rule);
  });
}

nlohmann::json ToJson(const std::optional<Class>& of) {
  if (!of) return nullptr;
  return {{"class", Name(of->bottleneck)}, {"confidence", of->confidence}, {"why", of->why}};
}

// Sets what all subjects' findings make together.
void Collect(Diagnosis& diagnosis) {
  diagnosis.findings.clear();
  diagnosis.left_out = 0;
  for (Subject& subject : diagnosis.subjects) {
    Rank(subject.findings);
    diagnosis.findings.insert(diagnosis.findings.end(), subject.findings.begin(), subject.findings.end());
  }
  Rank(diagnosis.findings);
  if (diagnosis.findings.size() <= kMostFindings) return;
  diagnosis.left_out = diagnosis.findings.size() - kMostFindings;
  diagnosis.findings.resize(kMostFindings);
}

}  // namespace

Diagnosis Diagnose(std::vector<Profile> profiles, std::span<const Rule* const> rules) {
  Diagnosis diagnosis;
  for (Profile& profile : profiles) {
    Subject subject{.profile = std::move(profile)};
    subject.classification = Classify(subject.profile);
    for (const Rule* rule : rules) {
      if (rule->scope != subject.profile.scope || !Serves(*rule, subject.classification.decided())) continue;
      if (auto lacking = Lacking(*rule, subject.profile); !lacking.empty()) {
        subject.silent.push_back({rule->name, std::move(lacking)});
      } else if (auto finding = AskRule(*rule, subject.profile)) {
        finding->lost = std::min(finding->lost, MostLost(*rule, subject.profile));
        if (finding->lost < kWorth) continue;
        finding->loss_us = finding->lost * TimeUs(subject.profile, finding->lost);
        subject.findings.push_back(std::move(*finding));
      }
    }
    diagnosis.subjects.push_back(std::move(subject));
  }
  Collect(diagnosis);
  return diagnosis;
}

void AddFindings(Diagnosis& diagnosis, std::vector<Finding> findings) {
  for (Finding& finding : findings) {
    const auto subject = std::find_if(diagnosis.subjects.begin(), diagnosis.subjects.end(),
                                      [&](const Subject& one) { return one.profile.subject == finding.subject; });
    HONE_CHECK(subject != diagnosis.subjects.end(), finding.subject);
    finding.loss_us = finding.lost * TimeUs(subject->profile, finding.lost);
    subject->findings.push_back(std::move(finding));
  }
  Collect(diagnosis);
}

nlohmann::json ToJson(const Diagnosis& diagnosis) {
  nlohmann::json findings = nlohmann::json::array(), subjects = nlohmann::json::array();
  for (const Finding& finding : diagnosis.findings) findings.push_back(ToJson(finding));
  for (const Subject& subject : diagnosis.subjects) {
    nlohmann::json silent = nlohmann::json::array();
    for (const SilentRule& one : subject.silent) silent.push_back({{"rule", one.rule}, {"lacks", one.lacks}});
    const Class* decided = subject.classification.decided();
    subjects.push_back({{"profile", ToJson(subject.profile)},
                        {"class", decided == nullptr ? nlohmann::json() : nlohmann::json(Name(decided->bottleneck))},
                        {"by_analysis", ToJson(subject.classification.by_analysis)},
                        {"by_counters", ToJson(subject.classification.by_counters)},
                        {"disagree", subject.classification.disagree()},
                        {"silent", std::move(silent)}});
  }
  return {{"findings", std::move(findings)}, {"left_out", diagnosis.left_out}, {"subjects", std::move(subjects)}};
}

std::string Describe(const Diagnosis& diagnosis) {
  std::string text;
  for (const Subject& subject : diagnosis.subjects) {
    const Classification& of = subject.classification;
    const Class* decided = of.decided();
    if (decided == nullptr) continue;
    text += fmt::format("{}: {} class ({:.0f} % sure): {}\n", subject.profile.subject, Name(decided->bottleneck),
                        100 * decided->confidence, decided->why);
    if (of.disagree())
      text += fmt::format("  analysis alone says {}: {}\n", Name(of.by_analysis->bottleneck), of.by_analysis->why);
  }
  if (diagnosis.findings.empty()) return text + "no findings\n";
  text += Describe(diagnosis.findings);
  if (diagnosis.left_out > 0) text += fmt::format("and {} more of less weight\n", diagnosis.left_out);
  return text;
}

std::string Describe(const std::vector<Finding>& findings) {
  std::string text;
  int number = 0;
  for (const Finding& finding : findings) {
    const std::string us = finding.loss_us > 0 ? fmt::format(", about {:.3g} us", finding.loss_us) : "";
    text += fmt::format("{}. {} in {} ({}): may cost {:.0f} % of its time{}\n   {}\n", ++number, finding.title,
                        finding.subject, finding.rule, 100 * finding.lost, us, finding.evidence);
    if (!finding.advice.empty()) text += fmt::format("   {}\n", finding.advice);
    std::string moves;
    for (const Move& move : finding.moves)
      moves += fmt::format("{}{}{}{}", moves.empty() ? "" : ", ", move.knob, move.value.empty() ? "" : " ", move.value);
    if (!moves.empty()) text += fmt::format("   settings: {}\n", moves);
  }
  return text;
}

}  // namespace hone
