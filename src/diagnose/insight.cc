#include "diagnose/insight.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/record.h"
#include "profile/measured_facts.h"

namespace hone {

template <SameAs<Class> Of>
void Fields(Of& one, auto&& field) {
  field("class", one.bottleneck, ByName<Bottleneck>{Name, ParseBottleneck});
  field("confidence", one.confidence);
  field("why", one.why);
}

template <SameAs<CountedFacts> Of>
void Fields(Of& counted, auto&& field) {
  field("subject", counted.subject);
  field("where", counted.where);
  field("facts", counted.facts);
}

template <SameAs<Insight> Of>
void Fields(Of& insight, auto&& field) {
  field("by_analysis", insight.limits.by_analysis);
  field("by_counters", insight.limits.by_counters);
  field("counted", insight.counted, kIfAny);
  field("missing", insight.missing);
}

namespace {

// The time that was measured, beside the limits; also of the one kernel that a candidate consists of.
void AddTimes(std::vector<Profile>& profiles, double time_us) {
  const auto of = [&](Scope scope) {
    return std::count_if(profiles.begin(), profiles.end(), [&](const Profile& one) { return one.scope == scope; });
  };
  for (Profile& profile : profiles) {
    if (profile.scope != Scope::kPlan && of(profile.scope) > 1) continue;
    AddTime(profile, time_us);
  }
}

// A run's own timeline is not the time that the judge measured.
void CountThem(CandidateProfiles& made, double time_us, const CountHook& count, Insight& insight) {
  if (!count) return;
  insight.missing = count(made);
  for (Profile& profile : made.profiles) {
    if (profile.scope == Scope::kPlan) AddTime(profile, time_us);
    if (profile.scope != Scope::kLaunch) continue;
    CountedFacts counted{.subject = profile.subject, .where = profile.where, .facts = {}};
    bool any = false;
    for (const Fact& fact : profile.facts()) {
      any |= fact.source == FactSource::kCounter;
      if (fact.source == FactSource::kCounter || fact.source == FactSource::kTiming)
        counted.facts[fact.name] = fact.value;
    }
    if (any) insight.counted.push_back(std::move(counted));
  }
}

// Of the only kernel, of which more is known, else of the whole.
Classification LimitsOf(const Diagnosis& diagnosis) {
  const Subject *kernel = nullptr, *whole = nullptr;
  int kernels = 0;
  for (const Subject& subject : diagnosis.subjects) {
    if (subject.profile.scope == Scope::kPlan) whole = &subject;
    if (subject.profile.scope != Scope::kLaunch) continue;
    kernel = &subject;
    ++kernels;
  }
  if (kernels == 1 && kernel->classification.decided() != nullptr) return kernel->classification;
  return whole != nullptr ? whole->classification : Classification{};
}

}  // namespace

Insight LookAt(const Candidate& candidate, double time_us, const InsightSetting& setting, const CountHook& count) {
  Insight insight;
  auto profiled =
      ProfileCandidate(candidate, "the candidate", setting.problem, setting.graph, setting.device, setting.program);
  if (!profiled) {
    insight.missing = profiled.error().message;
  } else if (const auto* wrong = std::get_if<Unprofiled>(&*profiled)) {
    insight.missing = wrong->message;
  } else {
    auto& made = std::get<CandidateProfiles>(*profiled);
    AddTimes(made.profiles, time_us);
    CountThem(made, time_us, count, insight);
    Advisers advisers = setting.advisers;
    if (!advisers.expert_acts()) advisers.kind = Advisers::Kind::kOn;
    auto advised = AskAdvisers(advisers, std::move(made.profiles));
    if (!advised) {
      insight.missing = advised.error().message;
      return insight;
    }
    insight.limits = LimitsOf(advised->diagnosis);
    insight.findings = std::move(advised->diagnosis.findings);
    for (const Advised::Tool& tool : advised->tools) {
      if (!tool.wrong.empty() && insight.missing.empty())
        insight.missing = "tool " + tool.name + " says nothing: " + tool.wrong;
    }
  }
  return insight;
}

void AddKept(std::vector<Profile>& profiles, double time_us, const std::vector<CountedFacts>& counted) {
  AddTimes(profiles, time_us);
  for (const CountedFacts& kept : counted) {
    auto profile = std::find_if(profiles.begin(), profiles.end(), [&](const Profile& one) {
      return one.scope == Scope::kLaunch && one.subject == kept.subject && one.where == kept.where;
    });
    if (profile == profiles.end()) {  // a library's own
      const auto whole =
          std::find_if(profiles.begin(), profiles.end(), [](const Profile& one) { return one.scope == Scope::kPlan; });
      profile = profiles.emplace(whole, Scope::kLaunch, kept.subject);
      profile->where = kept.where;
    }
    for (const auto& [name, value] : kept.facts) {
      const FactName* row = FindFact(name);
      if (row == nullptr || row->unit == FactUnit::kWord) continue;
      const bool timed = name == "time_us" || name == "time_ratio";
      profile->Set(name, value, timed ? FactSource::kTiming : FactSource::kCounter);
    }
  }
}

nlohmann::json ClassJson(const Insight& insight) { return ToRecord(insight); }

Result<Insight> ParseClassJson(const nlohmann::json& json) {
  return FromRecord<Insight>(json, "a class of the run store");
}

}  // namespace hone
