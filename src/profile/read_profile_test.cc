#include "profile/read_profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/must.h"

namespace hone {
namespace {

using testing::Must;

TEST(ReadProfileTest, AProfileIsTheSameAfterItsJson) {
  Profile launch(Scope::kLaunch, "relu");
  launch.where = "/steps/0";
  launch.Set("registers", 32, FactSource::kCubin);
  launch.Set("time_us", 12.5, FactSource::kTiming, 0.8);
  launch.SetWord("occupancy_limit", "warps", FactSource::kLaunch);
  const nlohmann::json json = ToJson(launch);
  EXPECT_EQ(ToJson(Must(ReadProfile(json, "it"))), json);
  const auto all = Must(ReadProfiles({{"subjects", {{{"profile", json}}, {{"profile", json}}}}}, "it"));
  EXPECT_EQ(all.size(), 2u);
}

TEST(ReadProfileTest, WhatIsWrongIsSaidAndWhatNoTableHasIsLeftOut) {
  nlohmann::json json = ToJson(Profile(Scope::kPlan, "p"));
  json["facts"] = {{{"name", "of another day"}, {"value", 1}, {"source", "counter"}}};
  EXPECT_TRUE(Must(ReadProfile(json, "it")).facts().empty());
  json["facts"] = {{{"name", "registers"}, {"value", 1}, {"source", "hearsay"}}};
  EXPECT_EQ(ReadProfile(json, "it").error().message, "it: fact registers is of no known source");
  json["scope"] = "galaxy";
  EXPECT_EQ(ReadProfile(json, "it").error().message, "it: there is no scope 'galaxy'");
  EXPECT_TRUE(ReadProfiles({{"no", "subjects"}}, "it").error().message.starts_with("it: "));
}

}  // namespace
}  // namespace hone
