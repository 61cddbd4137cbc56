#include "diagnose/build_doubt.h"

#include <gtest/gtest.h>

#include <vector>

#include "target/shipped_model.h"

namespace hone {
namespace {

Profile Launch(const std::string& name, double stored, double loaded, double share) {
  Profile profile(Scope::kLaunch, name);
  profile.Set("spill_store_bytes", stored, FactSource::kCubin);
  profile.Set("spill_load_bytes", loaded, FactSource::kCubin);
  profile.Set("spill_share", share, FactSource::kCubin);
  profile.Set("block_threads", 256, FactSource::kLaunch);
  profile.Set("multiprocessors", 132, FactSource::kLaunch);
  profile.Set("resident_blocks", 2, FactSource::kLaunch);
  return profile;
}

TEST(BuildDoubtTest, TheKernelThatSpillsMostCounts) {
  const BuildFacts build = BuildFactsOf(std::vector{Launch("a", 0, 0, 0), Launch("b", 400, 640, 0.2),
                                                    Launch("c", 4000, 6400, 0.1), Profile(Scope::kPlan, "all")});
  EXPECT_EQ(build.spilled_bytes, 1040);
  EXPECT_EQ(build.spill_share, 0.2);
  EXPECT_EQ(build.homeless, "");
}

TEST(BuildDoubtTest, WhatSpillsHeavilyAndDidNotBeforeIsDoomed) {
  const BuildFacts none{}, little{.spilled_bytes = 300, .spill_share = 0.02};
  const BuildFacts heavy{.spilled_bytes = 1040, .spill_share = 0.2}, half{.spilled_bytes = 200, .spill_share = 0.08};
  EXPECT_EQ(WhyDoomed(heavy, &none), "1040 bytes spilled, 20 % of the instructions carried out; 0 bytes before");
  EXPECT_EQ(WhyDoomed(heavy, &little), "1040 bytes spilled, 20 % of the instructions carried out; 300 bytes before");
  EXPECT_EQ(WhyDoomed(heavy, &half), "") << "it spilled before";
  EXPECT_EQ(WhyDoomed(heavy, &heavy), "");
  EXPECT_EQ(WhyDoomed(heavy, nullptr), "") << "nobody knows what else there is";
  EXPECT_EQ(WhyDoomed(little, &none), "") << "much text, hardly carried out";
  EXPECT_EQ(WhyDoomed({.spilled_bytes = 64, .spill_share = 0.3}, &none), "") << "a small kernel with a few registers";
}

TEST(BuildDoubtTest, WhatNoMultiprocessorHoldsIsDoomed) {
  Profile homeless(Scope::kLaunch, "huge");
  homeless.Set("block_threads", 1024, FactSource::kLaunch);
  homeless.Set("multiprocessors", 132, FactSource::kLaunch);
  const BuildFacts build = BuildFactsOf(std::vector{Launch("a", 0, 0, 0), homeless});
  EXPECT_EQ(build.homeless, "huge");
  EXPECT_NE(WhyDoomed(build, nullptr).find("no multiprocessor holds a block of huge"), std::string::npos);
  const Profile unplaced(Scope::kLaunch, "kernel of a module");
  EXPECT_EQ(BuildFactsOf(std::vector{unplaced}).homeless, "") << "its launch is not known";
}

TEST(BuildDoubtTest, AProcessorHasNoSuchFacts) {
  Problem problem;
  problem.name = "none";
  DeviceModel cpu;
  cpu.kind = DeviceKind::kCpu;
  EXPECT_FALSE(LookAtBuild({CandidateKind::kModule, "int x;"}, {.problem = problem, .device = cpu}));
}

}  // namespace
}  // namespace hone
