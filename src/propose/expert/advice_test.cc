// What findings make of changes, and that what rules ask for is there to be changed.
#include "propose/expert/advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "base/files.h"
#include "diagnose/insight.h"
#include "diagnose/raw.h"
#include "diagnose/rule.h"
#include "dsl/family.h"
#include "dsl/knobs.h"
#include "dsl/way.h"
#include "propose/expert/expert.h"
#include "propose/proposer.h"
#include "target/cpu/host_libraries.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

Finding Found(const std::string& rule, const std::string& subject, double lost, std::vector<Move> moves) {
  return {.rule = rule, .evidence = "1", .subject = subject, .lost = lost, .moves = std::move(moves)};
}

Alternative Other(std::size_t statement, const std::string& knob, std::int64_t before, std::int64_t after) {
  return {.statement = statement, .knob = knob, .before = dsl::Whole(before), .after = dsl::Whole(after)};
}

const Parts kTwo = {{"relu", "relu_1"}, {0.25, 0.75}};

TEST(AdviceTest, AKernelIsOfTheStatementThatItsNameSays) {
  const std::vector<std::string_view> targets = {"relu", "relu_1", "add", "addmm"};
  const auto of = [&](std::string_view subject) { return StatementOf(subject, targets); };
  EXPECT_EQ(of("relu"), 0u);
  EXPECT_EQ(of("t_relu_products"), 0u);
  EXPECT_EQ(of("t_relu_1_products"), 1u);
  EXPECT_EQ(of("_ZN12_GLOBAL__N_112Matmul_t_addEPKfS1_._omp_fn.0"), 2u);
  EXPECT_EQ(of("_ZN12_GLOBAL__N_114Matmul_t_addmmEPKfS1_._omp_fn.0"), 3u);
  EXPECT_EQ(of("the candidate"), std::nullopt);
  EXPECT_EQ(of("hone_run"), std::nullopt);
}

TEST(AdviceTest, AWayThatSaysOfItselfThatItIsSlowerPromisesLess) {
  std::vector<Alternative> ways(3, {.statement = 0, .knob = "precision", .chooses = true});
  ways[1].slower = 2;
  ways[2].slower = 0.5;
  const auto promises = PromisesOf({Found("vector_width", "relu", 0.4, {{"way", ""}})}, ways, {{"relu"}, {1}}, {});
  EXPECT_DOUBLE_EQ(promises[0].share, 0.4);
  EXPECT_DOUBLE_EQ(promises[1].share, 0.4 / 4 / 2) << "a quarter, and it is the second";
  EXPECT_DOUBLE_EQ(promises[2].share, 0.4 / 3) << "who says to be quicker is promised no more than was found";
}

TEST(AdviceTest, AFindingPromisesItsShareOfItsOwnStatement) {
  const std::vector<Alternative> alternatives = {Other(0, "split", 1, 2), Other(1, "split", 1, 4),
                                                 Other(1, "split", 1, 2), Other(1, "tile", 64, 32)};
  const auto promises = PromisesOf(
      {Found("wave_tail", "t_relu_1_products", 0.5, {{"split", "more"}, {"tile", "less"}})}, alternatives, kTwo, {});
  EXPECT_EQ(promises[0].rule, "") << "it is of another statement";
  EXPECT_DOUBLE_EQ(promises[2].share, 0.5 * 0.75) << "the nearest comes first";
  EXPECT_DOUBLE_EQ(promises[1].share, 0.5 * 0.75 / 2);
  EXPECT_DOUBLE_EQ(promises[3].share, 0.5 * 0.75 / 2) << "the second move";
  EXPECT_EQ(promises[3].rule, "wave_tail");
}

TEST(AdviceTest, AMoveThatCanBringAPartPromisesThatPart) {
  const auto promises =
      PromisesOf({Found("launch_bound", "the candidate", 0.6, {{"split", "less", 0.25}, {"tile", "less"}})},
                 {Other(0, "split", 4, 2), Other(0, "tile", 64, 32)}, {{"relu"}, {1}}, {});
  EXPECT_DOUBLE_EQ(promises[0].share, 0.6 * 0.25);
  EXPECT_DOUBLE_EQ(promises[1].share, 0.6 / 2) << "the second, of all of it";
}

TEST(AdviceTest, MoreAndLessAreFromWhatItIsNow) {
  const std::vector<Alternative> alternatives = {Other(0, "tile", 64, 32), Other(0, "tile", 64, 128)};
  const auto rules = [&](const std::string& value) {
    const auto promises = PromisesOf({Found("r", "relu", 0.5, {{"tile", value}})}, alternatives, kTwo, {});
    return std::pair(promises[0].rule, promises[1].rule);
  };
  EXPECT_EQ(rules("less"), std::pair(std::string("r"), std::string()));
  EXPECT_EQ(rules("more"), std::pair(std::string(), std::string("r")));
  EXPECT_EQ(rules("128"), std::pair(std::string(), std::string("r")));
  EXPECT_EQ(rules(""), std::pair(std::string("r"), std::string("r")));
}

TEST(AdviceTest, AWayIsASettingOfAnyNameThatChoosesOne) {
  Alternative path = {.knob = "path", .chooses = true, .before = dsl::Word("dot"), .after = dsl::Word("tile")};
  const auto asked = [&](const std::string& value) {
    return PromisesOf({Found("better_way", "relu", 0.5, {{"way", value}})}, {path}, kTwo, {})[0].rule == "better_way";
  };
  EXPECT_TRUE(asked("tile"));
  EXPECT_TRUE(asked(""));
  EXPECT_FALSE(asked("stream"));
  path.chooses = false;
  EXPECT_FALSE(asked("tile"));
}

TEST(AdviceTest, WhoseWordIsTakenFollowsFromWhatEarlierPromisesCameTo) {
  const std::vector<Finding> findings = {Found("boaster", "relu", 0.8, {{"pack", ""}}),
                                         Found("modest", "relu", 0.4, {{"pack", ""}})};
  const std::vector<Alternative> pack = {Other(0, "pack", 1, 4)};
  EXPECT_EQ(PromisesOf(findings, pack, kTwo, {})[0].rule, "boaster");
  Learned learned;
  for (int i = 0; i < 20; ++i) learned["boaster"].Add(0.8, 0);
  const Promise now = PromisesOf(findings, pack, kTwo, learned)[0];
  EXPECT_EQ(now.rule, "modest");
  EXPECT_DOUBLE_EQ(now.share, 0.4 * 0.25) << "as the finding has it, not scaled";
}

// The kinds of device on which a rule of that scope can find something.
std::vector<DeviceKind> DevicesOf(Scope scope) {
  if (scope == Scope::kLaunch) return {DeviceKind::kCuda};
  if (scope == Scope::kFunction) return {DeviceKind::kCpu};
  return {DeviceKind::kCpu, DeviceKind::kCuda};
}

// Whether the language has what a move names, for kernels of this family.
bool Has(const dsl::Family& family, DeviceKind device, std::string_view knob, std::string_view value) {
  if (knob == "way") {
    const auto ways = dsl::WaysOf(family, device);
    return !dsl::ChoiceOf(family, device).empty() &&
           (value.empty() || value == "*" ||
            std::any_of(ways.begin(), ways.end(), [&](const dsl::Way* way) { return way->name == value; }));
  }
  const bool word = !value.empty() && value != "more" && value != "less";
  const auto rows = dsl::KnobRows(family, device);
  return std::any_of(rows.begin(), rows.end(), [&](const dsl::KnobRow& row) {
    return row.name == knob && (!word || row.doc.find(value) != std::string::npos);
  });
}

TEST(AdviceTest, EveryMoveThatARuleMaySuggestNamesWhatTheLanguageHasForEveryFamilyThatItIsFor) {
  int moves = 0;
  for (const Rule* rule : AllRules()) {
    for (const std::string_view family : rule->families)
      EXPECT_NE(dsl::FindFamily(family), nullptr) << rule->name << ": " << family;
    std::set<std::string> helped;
    for (const RuleMove& move : rule->moves) {
      ++moves;
      bool known = false;
      for (const dsl::Family* family : dsl::AllFamilies()) {
        for (const DeviceKind device : DevicesOf(rule->scope)) {
          if (!Has(*family, device, move.knob, move.value)) continue;
          known = true;
          helped.insert(std::string(family->name));
        }
      }
      EXPECT_TRUE(known) << rule->name << " suggests " << move.knob << " " << move.value << ", which no kernel has";
    }
    if (rule->moves.empty()) continue;
    for (const dsl::Family* family : dsl::AllFamilies()) {
      const auto& meant = rule->families;
      if (!meant.empty() && std::find(meant.begin(), meant.end(), family->name) == meant.end()) continue;
      const auto devices = DevicesOf(rule->scope);
      if (std::none_of(devices.begin(), devices.end(),
                       [&](const DeviceKind device) { return !dsl::WaysOf(*family, device).empty(); }))
        continue;
      EXPECT_TRUE(helped.contains(std::string(family->name)))
          << "no move of " << rule->name << " is for " << family->name << ": name the families that they are for";
    }
  }
  EXPECT_GT(moves, 40);
}

TEST(AdviceTest, EveryRawFactIsAShareAndAsksForASettingThatThereIs) {
  for (const RawRow& row : RawRows()) {
    const FactName* fact = FindFact(row.fact);
    ASSERT_NE(fact, nullptr) << row.fact;
    EXPECT_EQ(fact->unit, FactUnit::kShare) << row.fact;
    bool known = false;
    for (const dsl::Family* family : dsl::AllFamilies()) {
      for (const DeviceKind device : {DeviceKind::kCpu, DeviceKind::kCuda})
        known = known || Has(*family, device, row.knob, "");
    }
    EXPECT_TRUE(known) << row.fact << " asks for " << row.knob;
  }
}

// The expert on a product, of which a first attempt is known.
class AdvisedExpertTest : public ::testing::Test {
 protected:
  AdvisedExpertTest() {
    const auto problem = ParseProblem(R"({"hone_problem": 1, "name": "test", "tensors": [
        {"name": "x", "shape": [4096, 1024], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
        {"name": "y", "shape": [4096, 1024], "dtype": "f32", "role": "output"}],
        "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})",
                                      "test");
    graph_ = std::make_unique<Graph>(*Graph::Create(*problem));
    first_.number = 1;
    first_.proposal = Expert(nullptr)->Propose({})->proposals.at(0);
    first_.evaluation.verdict.outcome = Outcome::kAccepted;
    first_.evaluation.timing = Timing{.warm = {.median_us = 100}};
  }
  std::unique_ptr<Proposer> Expert(const Learned* learned) { return MakeExpert(*graph_, TypicalDevice(), learned); }
  std::vector<Proposal> Next(const Learned* learned, std::vector<const Attempt*> history) {
    return Expert(learned)->Propose({.parent = 1, .history = std::move(history)})->proposals;
  }
  std::vector<Proposal> Next(const Learned* learned) { return Next(learned, {&first_}); }

  std::unique_ptr<Graph> graph_;
  Attempt first_;
};

TEST_F(AdvisedExpertTest, WhatFindingsAskForComesFirst) {
  first_.insight->findings = {Found("some_rule", "t_y_map", 0.6, {{"unroll", ""}})};
  const Learned none;
  const auto own = Next(nullptr), advised = Next(&none);
  ASSERT_EQ(own.size(), advised.size()) << "the same changes in another order";
  EXPECT_EQ(own[0].rule, kOwnRule);
  EXPECT_EQ(own[0].key.find("y.unroll="), std::string::npos) << own[0].key << ": it would come first anyway";
  EXPECT_EQ(advised[0].rule, "some_rule");
  EXPECT_EQ(advised[0].key.find("y.unroll="), 0u) << advised[0].key;
  EXPECT_NEAR(advised[0].promised, 0.6, 1e-12);
  EXPECT_NEAR(advised[0].predicted_us, 40, 1e-9);
  EXPECT_NE(advised[0].origin.find("(some_rule)"), std::string::npos) << advised[0].origin;
  for (std::size_t i = 1; i < advised.size(); ++i)
    EXPECT_LE(advised[i - 1].predicted_us, advised[i].predicted_us) << "the largest gain first";
}

TEST_F(AdvisedExpertTest, WithoutFindingsItsOwnChangesKeepTheirOrder) {
  const Learned none;
  const auto own = Next(nullptr), advised = Next(&none);
  ASSERT_EQ(own.size(), advised.size());
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(own[i].key, advised[i].key);
}

TEST_F(AdvisedExpertTest, WhatMadeAnotherAttemptSlowerComesLast) {
  const Learned none;
  const auto fresh = Next(&none);
  Attempt second = {.number = 2, .parent = 1};
  second.proposal = fresh[0];
  second.evaluation = first_.evaluation;
  const auto last_key = [&](double us) {
    second.evaluation.timing->warm.median_us = us;
    return Next(&none, {&first_, &second}).back().key;
  };
  EXPECT_EQ(last_key(150), fresh[0].key);
  EXPECT_EQ(last_key(105), fresh.back().key) << "no slower than attempts scatter";
  second.evaluation.verdict.outcome = Outcome::kWrongResult;
  EXPECT_EQ(last_key(50), fresh[0].key) << "it was refused";
}

// Rules and expert together, over what kernels of ours are really called.
class LookedAtTest : public ::testing::TestWithParam<DeviceKind> {};

TEST_P(LookedAtTest, WhatIsFoundInCompiledKernelsIsMendedInTheirStatements) {
  const bool cuda = GetParam() == DeviceKind::kCuda;
  if (const auto version = cuda::NvrtcVersion(); cuda && !version) GTEST_SKIP() << version.error().message;
  const auto cache = *TempDirectory::Create("advice");
  setenv("HONE_CACHE", cache.path().c_str(), 1);
  const auto problem = ParseProblem(R"({"hone_problem": 1, "name": "test", "contract": "fp32", "tensors": [
      {"name": "x", "shape": [256, 512], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "w", "shape": [512, 1024], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "v", "shape": [1024, 128], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "y", "shape": [256, 128], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["h"]},
                {"op": "relu", "args": {"self": "%h"}, "outputs": ["r"]},
                {"op": "mm", "args": {"self": "%r", "mat2": "%v"}, "outputs": ["y"]}]})",
                                    "test");
  ASSERT_TRUE(problem) << problem.error().message;
  const Graph graph = *Graph::Create(*problem);
  DeviceModel device = cuda ? TypicalDevice() : DescribeHost();
  if (!cuda) device.ceilings = {.fma_flops_f32 = 50e9, .bandwidth = {{1 << 20, 10e9, 10e9}}};
  const Learned none;
  const auto expert = MakeExpert(graph, device, &none);
  Attempt first{.number = 1};
  first.proposal = expert->Propose({})->proposals.at(0);
  ASSERT_EQ(first.proposal.candidate.kind, CandidateKind::kProgram);
  first.evaluation.verdict.outcome = Outcome::kAccepted;
  first.evaluation.timing = Timing{.warm = {.median_us = 1e6}};
  first.insight = LookAt(first.proposal.candidate, 1e6, {graph.problem(), &graph, device, {}, {Advisers::Kind::kOn}});
  unsetenv("HONE_CACHE");
  ASSERT_EQ(first.insight->missing, "");
  ASSERT_FALSE(first.insight->findings.empty());
  const auto parsed = dsl::Parse(first.proposal.candidate.text);
  std::vector<std::string_view> targets;
  for (const auto& statement : std::get<dsl::Program>(parsed).statements) targets.push_back(statement.target);
  for (const Finding& finding : first.insight->findings) {
    const bool of_all = finding.subject == "the candidate";
    EXPECT_EQ(!StatementOf(finding.subject, targets), of_all) << finding.rule << " in " << finding.subject;
  }
  const auto next = expert->Propose({.parent = 1, .history = {&first}})->proposals;
  ASSERT_FALSE(next.empty());
  EXPECT_GT(next[0].promised, 0);
  if (!cuda) return;  // of the processor's rules those with moves have nothing against this
  EXPECT_TRUE(std::any_of(first.insight->findings.begin(), first.insight->findings.end(), [&](const Finding& finding) {
    return finding.rule == next[0].rule;
  })) << next[0].origin;
}

INSTANTIATE_TEST_SUITE_P(Devices, LookedAtTest, ::testing::Values(DeviceKind::kCpu, DeviceKind::kCuda),
                         [](const auto& one) { return one.param == DeviceKind::kCpu ? "Cpu" : "Cuda"; });

TEST_F(AdvisedExpertTest, APromiseThatWasNotKeptCountsLessInTheSameRunAndInLaterOnes) {
  first_.insight->findings = {Found("some_rule", "t_y_map", 0.6, {{"unroll", ""}})};
  const Learned none;
  const double fresh = Next(&none)[0].predicted_us;
  Attempt second = {.number = 2, .parent = 1};
  second.proposal = Next(&none)[0];
  second.evaluation = first_.evaluation;  // as fast as before
  const auto again = Next(&none, {&first_, &second});
  EXPECT_EQ(again[0].rule, "some_rule");
  EXPECT_NEAR(again[0].predicted_us, 100 * (1 - 0.8 * 0.6), 1e-9);
  EXPECT_GT(again[0].predicted_us, fresh);
  Learned learned;
  learned["some_rule"].Add(0.6, 0);
  EXPECT_NEAR(Next(&learned)[0].predicted_us, 100 * (1 - 0.8 * 0.6), 1e-9);
}

}  // namespace
}  // namespace hone::expert
