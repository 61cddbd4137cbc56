// The sets of counters against CUPTI's own tables of the chip: no device is needed.
#include <gtest/gtest.h>

#include <map>

#include "profile/facts.h"
#include "target/cuda/metrics.h"

namespace hone {
namespace {

constexpr const char* kChip = "GH100";  // of an H100 and an H200

class CounterSetsTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef HONE_SANITIZED
    GTEST_SKIP() << "CUPTI loads a library with RTLD_DEEPBIND, which a sanitizer ends the process for";
#endif
    if (const auto version = cuda::CuptiVersion(); !version) GTEST_SKIP() << version.error().message;
  }
  static int PassesOf(CounterSet set) {
    const auto config = cuda::MetricConfig::Create(kChip, MetricsOf(set));
    EXPECT_TRUE(config) << config.error().message;
    return config ? config->passes() : 0;
  }
};

TEST_F(CounterSetsTest, TheChipHasEveryMetricOfTheTable) {
  const auto metrics = MetricsOf(CounterSet::kAll);
  EXPECT_GE(metrics.size(), 50u);
  const auto known = cuda::KnownMetrics(kChip, metrics);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(*known, metrics);
}

TEST_F(CounterSetsTest, AMetricThatTheChipDoesNotHaveIsNotKnownAndNotConfigured) {
  const std::vector<std::string> metrics = {"dram__bytes_read.sum", "dram__bytes_invented.sum"};
  const auto known = cuda::KnownMetrics(kChip, metrics);
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_EQ(*known, std::vector<std::string>{"dram__bytes_read.sum"});
  EXPECT_FALSE(cuda::MetricConfig::Create(kChip, metrics));
  EXPECT_FALSE(cuda::MetricConfig::Create("GH999", {"dram__bytes_read.sum"}));
}

// What a set costs. Whoever adds a metric sees here what it adds.
TEST_F(CounterSetsTest, TriageIsOnePassAndTheOthersAreFew) {
  EXPECT_EQ(PassesOf(CounterSet::kTriage), 1);
  EXPECT_EQ(PassesOf(CounterSet::kStandard), 7);
  EXPECT_EQ(PassesOf(CounterSet::kAll), 10);
}

TEST(CounterSetTableTest, SetsGrowAndEachMetricIsOneFact) {
  EXPECT_LT(MetricsOf(CounterSet::kTriage).size(), MetricsOf(CounterSet::kStandard).size());
  EXPECT_LT(MetricsOf(CounterSet::kStandard).size(), MetricsOf(CounterSet::kAll).size());
  std::map<std::string_view, std::string_view> facts;
  for (const FactName& fact : AllFacts()) {
    if (fact.counter.empty()) continue;
    const auto [before, fresh] = facts.try_emplace(fact.counter, fact.name);
    EXPECT_TRUE(fresh) << fact.counter << " is " << before->second << " and " << fact.name;
    EXPECT_TRUE(fact.over.empty() || fact.unit == FactUnit::kShare) << fact.name;
  }
  for (const CounterSet set : {CounterSet::kTriage, CounterSet::kStandard, CounterSet::kAll})
    EXPECT_EQ(ParseCounterSet(Name(set)), set);
  EXPECT_FALSE(ParseCounterSet("some"));
}

}  // namespace
}  // namespace hone
