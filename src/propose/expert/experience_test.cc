#include "propose/experience.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/must.h"
#include "dsl/knobs.h"
#include "propose/expert/lesson.h"

namespace hone {
namespace {

using testing::Must;

Lesson Tile(const std::string& before, const std::string& after, double gain, double share = 1) {
  return {.family = "matmul",
          .knob = "tile",
          .before = before,
          .after = after,
          .dtype = "f32",
          .size = 20,
          .share = share,
          .gain = gain};
}

TEST(ExperienceTest, WithoutAnyTheProposersClaimStands) {
  EXPECT_EQ(Experience().Expect(Tile("64x64", "32x64", 0), 0.25), 0.25);
  EXPECT_EQ(Experience().Expect(Tile("64x64", "32x64", 0, 0.5), 0.25), 0.25);
}

TEST(ExperienceTest, FewLessonsChangeLittleAndManyDecide) {
  Experience experience;
  double last = 0.25;
  for (int i = 0; i < 200; ++i) {
    experience.Add(Tile("64x64", "32x64", -0.5));
    const double now = experience.Expect(Tile("64x64", "32x64", 0), 0.25);
    EXPECT_LT(now, last);
    last = now;
  }
  EXPECT_NEAR(last, -0.5, 0.01);
}

TEST(ExperienceTest, WhatAChangeBringsIsInProportionToItsKernel) {
  Experience experience;
  for (int i = 0; i < 400; ++i) experience.Add(Tile("64x64", "32x64", 0.25, 0.5));
  EXPECT_NEAR(experience.Expect(Tile("64x64", "32x64", 0, 0.5), 0), 0.25, 0.01);
  EXPECT_NEAR(experience.Expect(Tile("64x64", "32x64", 0, 1), 0), 0.5, 0.02);
  EXPECT_EQ(experience.Expect(Tile("64x64", "32x64", 0, 0), 0.125), 0.125) << "nothing is known of a kernel of no time";
}

TEST(ExperienceTest, AnotherValueOfTheSameDirectionIsTheMoreGeneralKind) {
  Experience experience;
  for (int i = 0; i < 100; ++i) experience.Add(Tile("64x64", "32x64", 0.5));
  const double same = experience.Expect(Tile("64x64", "32x64", 0), 0);
  const double alike = experience.Expect(Tile("128x64", "64x64", 0), 0);
  EXPECT_NEAR(same, 0.5, 0.01);
  EXPECT_GT(alike, 0.4);
  EXPECT_LE(alike, same);
  EXPECT_EQ(experience.Expect(Tile("32x64", "64x64", 0), 0), 0) << "the other direction";
  Lesson other = Tile("64x64", "32x64", 0);
  other.family = "conv";
  EXPECT_EQ(experience.Expect(other, 0), 0);
}

TEST(ExperienceTest, ARefusalCountsAsALargeLossAndIsCounted) {
  Lesson refused = Tile("64x64", "32x64", 0);
  refused.End(100, 0);
  EXPECT_TRUE(refused.refused);
  Lesson halved = refused;
  halved.End(100, 50);
  EXPECT_FALSE(halved.refused);
  EXPECT_DOUBLE_EQ(halved.gain, std::log(2));
  Experience experience;
  experience.Add(refused);
  experience.Add(halved, 0.5);
  const Tally& tally = experience.kinds().at("matmul.tile:less");
  EXPECT_EQ(tally.lessons, 1.5);
  EXPECT_EQ(tally.refused, 1);
  EXPECT_DOUBLE_EQ(tally.brought, kRefusedGain + 0.5 * std::log(2));
}

TEST(ExperienceTest, WhatIsKnownOfOneLimitIsParticularToIt) {
  Lesson by_memory = Tile("64x64", "32x64", 0.5), by_compute = by_memory;
  by_memory.limit = "memory";
  by_compute.limit = "compute";
  by_compute.gain = -0.5;
  Experience experience;
  for (int i = 0; i < 50; ++i) {
    experience.Add(by_memory);
    experience.Add(by_compute);
  }
  EXPECT_GT(experience.Expect(by_memory, 0), 0.4);
  EXPECT_LT(experience.Expect(by_compute, 0), -0.4);
}

TEST(ExperienceTest, WhatWasAlwaysRefusedIsDoomedAndWhatOnceDidIsNot) {
  Lesson refused = Tile("64x64", "32x64", 0);
  refused.End(100, 0);
  Experience experience;
  experience.Add(refused);
  experience.Add(refused);
  EXPECT_FALSE(experience.WhyDoomed(refused)) << "two are few";
  experience.Add(refused);
  EXPECT_EQ(experience.WhyDoomed(refused), "all 3 of matmul.tile=64x64>32x64 f32 2^20 were refused");
  EXPECT_FALSE(experience.WhyDoomed(Tile("128x64", "32x64", 0))) << "from elsewhere it may do";
  experience.Add(Tile("64x64", "32x64", -1));
  EXPECT_FALSE(experience.WhyDoomed(refused)) << "it was slow, and right";
}

TEST(ExperienceTest, WhatIsKnownAgainstStartsPutsNoneBack) {
  Lesson fused{.family = std::string(kStart), .knob = "cut", .before = "matmul+norm", .after = "everything fused"};
  Experience against, in_favour;
  for (const double gain : {-0.7, 0.7}) {
    fused.gain = gain;
    for (int i = 0; i < 20; ++i) (gain < 0 ? against : in_favour).Add(fused);
  }
  EXPECT_LT(against.Expect(fused, 0), -0.5);
  EXPECT_EQ(against.HopeOfStart(fused), 0);
  EXPECT_GT(in_favour.HopeOfStart(fused), 0.5);
  EXPECT_EQ(in_favour.HopeOfStart(fused), in_favour.Expect(fused, 0));
}

TEST(ExperienceTest, SettingsReadAsTheyWereWritten) {
  for (const dsl::Setting& setting : {dsl::Whole(64), dsl::Whole(-1), dsl::Tuple({64, 128, 256}), dsl::Word("gemm"),
                                      dsl::Word("x"), dsl::Word("2by")})
    EXPECT_EQ(expert::ReadSetting(dsl::ToString(setting)), setting) << dsl::ToString(setting);
}

}  // namespace
}  // namespace hone
