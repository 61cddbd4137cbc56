#include "command/kept_comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

TEST(KeptComparisonTest, HowFarItIsIsSeenWhileItIsAtWorkAndWhetherItCameToItsEnd) {
  const TempDirectory folder = Must(TempDirectory::Create("kept-comparison"));
  const std::string store = folder.path() + "/runs.sqlite";
  const auto seen = [&] { return LookAtAll(ComparisonsOf(store)); };
  EXPECT_TRUE(seen().empty());
  for (const auto& [searches, state] : {std::pair<std::size_t, const char*>{1, "interrupted"}, {2, "done"}}) {
    {
      KeptComparison kept = Must(KeptComparison::Begin(store, "hone compare greedy", 2));
      EXPECT_TRUE(kept.Due());
      Must(kept.Write({{"problems", nlohmann::json::array()}}));
      EXPECT_FALSE(kept.Due()) << "not twice a second";
      ASSERT_EQ(seen().size(), 1u) << "the same command writes over it";
      EXPECT_EQ(seen()[0].state, "running");
      const auto again = KeptComparison::Begin(store, "hone compare greedy", 2);
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().message, "the same comparison is at work");
      kept.Searched(searches);
      EXPECT_EQ(kept.Due(), searches == 2) << "all of it is written at once";
      Must(kept.Write({{"problems", {"softmax"}}}));
      const auto document = nlohmann::json::parse(Must(ReadFile(seen()[0].file)));
      EXPECT_EQ(document["progress"]["searches"], searches);
      EXPECT_EQ(document["progress"]["of"], 2);
    }
    EXPECT_EQ(seen()[0].state, state);
  }
  Must(Must(KeptComparison::Begin(store, "hone compare random", 2)).Write(nlohmann::json::object()));
  EXPECT_EQ(seen().size(), 2u);
}

}  // namespace
}  // namespace hone
