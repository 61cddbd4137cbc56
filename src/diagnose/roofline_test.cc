#include "diagnose/roofline.h"

#include <gtest/gtest.h>

#include "target/shipped_model.h"

namespace hone {
namespace {

TEST(RooflineTest, PartsStandUnderTheRoof) {
  Profile part(Scope::kStatement, "y<1>");
  part.Set("step_flops", 2e9, FactSource::kAnalytic);
  part.Set("step_bytes", 1e9, FactSource::kAnalytic);
  Profile whole(Scope::kPlan, "all");
  whole.Set("problem_flops", 4e12, FactSource::kAnalytic);
  whole.Set("problem_bytes", 1e9, FactSource::kAnalytic);
  const std::vector<Profile> profiles = {part, whole};
  const Roofline roofline = RooflineOf(profiles, TypicalDevice());
  ASSERT_EQ(roofline.points.size(), 2u);
  EXPECT_EQ(roofline.bandwidth, 4800e9);
  EXPECT_EQ(roofline.ceilings.front().flops, 989.4e12);
  EXPECT_DOUBLE_EQ(roofline.Attainable(2), 9600e9);
  EXPECT_DOUBLE_EQ(roofline.Attainable(4000), 989.4e12);
  const std::string text = Describe(roofline), svg = DrawSvg(roofline);
  EXPECT_NE(text.find("y<1>"), std::string::npos) << text;
  EXPECT_NE(text.find("208.3  memory"), std::string::npos) << text;  // 1 GB at 4.8 TB/s
  EXPECT_NE(svg.find("y&lt;1&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(Describe(RooflineOf({}, TypicalDevice())), "");
  EXPECT_TRUE(DrawSvg(RooflineOf({}, DeviceModel())).ends_with("</svg>\n"));
}

}  // namespace
}  // namespace hone
