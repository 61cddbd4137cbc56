#include "evaluate/kept_baselines.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace hone {
namespace {

KnownBaseline Of(double median_us, int count) {
  return {.warm = {.median_us = median_us, .interval = Interval{median_us, median_us}, .count = count}};
}

TEST(KeptBaselinesTest, WhatOneKeepsTheNextOneFinds) {
  const auto folder = TempDirectory::Create("kept");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/baselines/a.json";
  KeptBaselines one(path, R"({"problem": "p"})"), two(path, "{}");
  EXPECT_EQ(one.Find("eager"), nullptr);
  ASSERT_TRUE(one.Keep("eager", Of(10, 50)));
  ASSERT_TRUE(two.Keep("compile", Of(7, 50)));
  const KeptBaselines later(path, "{}");
  ASSERT_NE(later.Find("eager"), nullptr);
  EXPECT_EQ(later.Find("eager")->warm.median_us, 10);
  EXPECT_EQ(later.Find("eager")->warm.count, 50);
  EXPECT_EQ(later.Find("eager")->measured_on.size(), 10u);
  ASSERT_NE(later.Find("compile"), nullptr);
}

TEST(KeptBaselinesTest, MoreSamplesWinAndOfAsManyTheLaterOnes) {
  KeptBaselines kept("", "{}");
  ASSERT_TRUE(kept.Keep("eager", Of(10, 50)));
  ASSERT_TRUE(kept.Keep("eager", Of(12, 20)));
  EXPECT_EQ(kept.Find("eager")->warm.median_us, 10);
  ASSERT_TRUE(kept.Keep("eager", Of(11, 50)));
  EXPECT_EQ(kept.Find("eager")->warm.median_us, 11);
}

TEST(KeptBaselinesTest, ADamagedFileIsNone) {
  const auto folder = TempDirectory::Create("kept");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() + "/a.json";
  for (const char* text : {"", "{", "[]", R"({"baselines": [1]})", R"({"baselines": {"eager": {"warm": 3}}})",
                           R"({"baselines": {"eager": {"warm": {"median_us": 0}}}})"}) {
    ASSERT_TRUE(WriteFileAtomically(path, text));
    EXPECT_EQ(KeptBaselines(path, "{}").Find("eager"), nullptr) << text;
  }
}

}  // namespace
}  // namespace hone
