// Every rule is held to its own examples: it fires where it says so, is silent where it says so, and looks at no fact
// that it does not state.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/files.h"
#include "diagnose/rule.h"

namespace hone {
namespace {

Profile ProfileOf(const Rule& rule, const Example& example) {
  Profile profile(rule.scope, "kernel");
  for (const ExampleFact& fact : example.facts) {
    if (fact.word.empty()) {
      profile.Set(fact.name, fact.value, FactSource::kCubin);
    } else {
      profile.SetWord(fact.name, fact.word, FactSource::kCubin);
    }
  }
  return profile;
}

TEST(RulesTest, EachFiresWhereItSaysSoAndIsSilentWhereItSaysSo) {
  for (const Rule* rule : AllRules()) {
    EXPECT_FALSE(rule->fires.empty()) << rule->name;
    EXPECT_FALSE(rule->silent.empty()) << rule->name;
    for (const Example& example : rule->fires) {
      const Profile profile = ProfileOf(*rule, example);
      EXPECT_TRUE(Lacking(*rule, profile).empty()) << rule->name << ": " << example.what << " lacks a needed fact";
      const auto finding = AskRule(*rule, profile);
      ASSERT_TRUE(finding) << rule->name << " is silent on: " << example.what;
      EXPECT_EQ(finding->rule, rule->name);
      EXPECT_GT(finding->lost, 0) << rule->name << ": " << example.what;
      EXPECT_NE(finding->evidence.find_first_of("0123456789"), std::string::npos) << finding->evidence;
      EXPECT_FALSE(finding->advice.empty()) << rule->name;
      EXPECT_EQ(finding->evidence.find('\n'), std::string::npos);
    }
    for (const Example& example : rule->silent) {
      const Profile profile = ProfileOf(*rule, example);
      EXPECT_TRUE(Lacking(*rule, profile).empty()) << rule->name << ": " << example.what << " lacks a needed fact";
      EXPECT_FALSE(AskRule(*rule, profile)) << rule->name << " fires on: " << example.what;
    }
  }
}

TEST(RulesTest, EachSaysWhatItNeedsAndWhereItsThresholdIsFrom) {
  std::set<std::string_view> names, titles;
  for (const Rule* rule : AllRules()) {
    EXPECT_TRUE(names.insert(rule->name).second);
    EXPECT_TRUE(titles.insert(rule->title).second) << rule->title;
    EXPECT_FALSE(rule->classes.empty()) << rule->name;
    EXPECT_FALSE(rule->threshold.source.empty()) << rule->name;
    EXPECT_NE(std::find(rule->needs.begin(), rule->needs.end(), rule->threshold.fact), rule->needs.end())
        << rule->name << " does not need the fact of its threshold";
    for (const auto& list : {rule->needs, rule->uses}) {
      for (const std::string_view fact : list) EXPECT_NE(FindFact(fact), nullptr) << rule->name << ": " << fact;
    }
  }
}

TEST(RulesTest, EachIsSilentWithoutAFactThatItNeeds) {
  for (const Rule* rule : AllRules()) {
    for (const std::string_view missing : rule->needs) {
      Profile profile(rule->scope, "kernel");
      for (const ExampleFact& fact : rule->fires.front().facts) {
        if (fact.name == missing) continue;
        if (fact.word.empty()) {
          profile.Set(fact.name, fact.value, FactSource::kCubin);
        } else {
          profile.SetWord(fact.name, fact.word, FactSource::kCubin);
        }
      }
      EXPECT_FALSE(AskRule(*rule, profile)) << rule->name << " without " << missing;
      EXPECT_EQ(Lacking(*rule, profile), std::vector<std::string_view>{missing}) << rule->name;
    }
  }
}

// docs/diagnosis.md lists rules and facts as the tables have them; what is printed here is what belongs there.
TEST(RulesTest, TheDocumentListsAllRulesAndFacts) {
  std::string rules = "| rule | what it finds | in a | where the class is | looks closer |\n|---|---|---|---|---|\n";
  for (const Rule* rule : AllRules()) {
    std::vector<std::string_view> classes;
    for (const Bottleneck one : rule->classes) classes.push_back(Name(one));
    rules += fmt::format("| `{}` | {} | {} | {} | `{}` {} {:.3g} |\n", rule->name, rule->title, Name(rule->scope),
                         fmt::join(classes, ", "), rule->threshold.fact,
                         rule->threshold.side == Threshold::Side::kAbove ? "above" : "below", rule->threshold.value);
  }
  std::string facts = "| fact | unit | what it is |\n|---|---|---|\n";
  for (const FactName& fact : AllFacts()) {
    facts += fmt::format("| `{}` | {} | {}{} |\n", fact.name, Name(fact.unit), fact.doc,
                         fact.counter.empty() ? "" : fmt::format(" (`{}`)", fact.counter));
  }
  const auto document = ReadFile(std::string(std::getenv("HONE_SOURCE")) + "/docs/diagnosis.md");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_NE(document->find(rules), std::string::npos) << rules;
  EXPECT_NE(document->find(facts), std::string::npos) << facts;
}

}  // namespace
}  // namespace hone
