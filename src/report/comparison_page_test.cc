#include "report/comparison_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

Json Arm(const char* name) {
  return {{"arm", name},
          {"search", "greedy"},
          {"quality", 0.9},
          {"anytime", 0.8},
          {"reached", 1},
          {"to_95_attempts", 0},
          {"to_95_seconds", 0},
          {"attempts", 10},
          {"seconds", 3},
          {"curve", {0.5, 0.9}},
          {"by_problem", {0.9, 0.95}},
          {"later", "field"}};
}

Json Document() {
  return {{"problems", {"softmax", "</script><b>x</b>"}}, {"arms", {Arm("greedy"), Arm("<i>mcts</i>")}}};
}

std::string Complaint(const std::string& json) {
  const auto page = WriteComparisonPage(json, "c.json", "hone");
  if (page) return "none";
  EXPECT_EQ(page.error().kind, ErrorKind::kUsage);
  return page.error().message;
}

TEST(ComparisonPageTest, SaysHowItWasMadeWhereThatIsKnown) {
  Json document = Document();
  document["made"] = {{"command", "hone compare --suite tables greedy"}, {"seeds", "20"}};
  const auto page = WriteComparisonPage(document.dump(), "c.json", "hone 1");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_NE(page->find("hone compare --suite tables greedy"), std::string::npos);
  EXPECT_NE(page->find("\"made\""), std::string::npos);
}

// As of one problem, which has no interval.
TEST(ComparisonPageTest, TakesFiguresWithoutAnInterval) {
  Json document = Document();
  const Json figures = {{"ratio", 1.1}, {"low", nullptr}, {"high", nullptr}, {"p", 1},
                        {"wins", 1},    {"losses", 0},    {"equal", 0}};
  document["arms"][1]["against"] = {{"quality", figures}, {"anytime", figures}};
  EXPECT_EQ(Complaint(document.dump()), "none");
}

TEST(ComparisonPageTest, HoldsWhatItDrawsAsText) {
  const auto page = WriteComparisonPage(Document().dump(), "c.json", "hone 1");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->find("<b>x"), std::string::npos);
  EXPECT_EQ(page->find("<i>mcts"), std::string::npos);
  EXPECT_NE(page->find("2 searches over 2 problems"), std::string::npos);
  const std::size_t from = page->find("id=\"data\">") + 10;
  const Json data = Json::parse(page->substr(from, page->find("</script>", from) - from));
  EXPECT_EQ(data["problems"], Document()["problems"]);
  EXPECT_EQ(data["arms"][1]["arm"], "<i>mcts</i>");
  EXPECT_EQ(data["arms"][1]["curve"], Json::array({0.5, 0.9}));
  EXPECT_EQ(data["sections"].size(), 4U);
}

TEST(ComparisonPageTest, SaysWhatADocumentLacks) {
  EXPECT_EQ(Complaint("no JSON"), "c.json: it is no JSON document; `hone compare --json` writes what is wanted");
  EXPECT_NE(Complaint("{}").find("no problems or no arms"), std::string::npos);
  Json shorter = Document();
  shorter["arms"][1]["by_problem"] = Json::array({0.5});
  EXPECT_NE(Complaint(shorter.dump()).find("arm '<i>mcts</i>' has not a quality of each problem"), std::string::npos);
  Json wrong = Document();
  wrong["arms"][0]["quality"] = "high";
  EXPECT_TRUE(Complaint(wrong.dump()).starts_with("c.json: not a comparison: ")) << Complaint(wrong.dump());
}

}  // namespace
}  // namespace hone
