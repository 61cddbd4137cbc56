#include "report/suite_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

Json Document() {
  const Json solved = {{"name", "one/2_<b>relu"},
                       {"group", "one"},
                       {"run", "3fa2"},
                       {"kind", "program"},
                       {"attempts", 4},
                       {"helpings", 2},
                       {"seconds", 3.5},
                       {"solved", true},
                       {"faster", true},
                       {"best_us", 20},
                       {"bound_us", 10},
                       {"honest", nullptr},
                       {"speedups", {{"eager", 2.0}}},
                       {"flags", Json::array()},
                       {"failure", ""}};
  Json failed = solved;
  failed.update({{"name", "two/1_bad"},
                 {"solved", false},
                 {"faster", false},
                 {"best_us", nullptr},
                 {"speedups", Json::object()},
                 {"failure", "import: torn"}});
  const Json over = {{"eager", {{"geomean", 2.0}, {"problems", 1}, {"slower", 0}}}};
  return {{"suite", "problems"},
          {"stop", "all of the attempts are spent"},
          {"complete", true},
          {"seconds", 7},
          {"signature", "0123"},
          {"groups", {{{"group", "one"}, {"problems", 2}, {"solved", 1}, {"over", over}}}},
          {"rows", {solved, failed}},
          {"helpings", {{{"problem", "one/2_<b>relu"}, {"attempts", 4}, {"before_us", nullptr}, {"best_us", 20}}}}};
}

Json DataOf(const std::string& page) {
  const std::size_t from = page.find("id=\"data\">") + 10;
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::string Complaint(const std::string& json) {
  const auto page = WriteSuitePage(json, "s.json", "hone");
  if (page) return "none";
  EXPECT_EQ(page.error().kind, ErrorKind::kUsage);
  return page.error().message;
}

TEST(SuitePageTest, HoldsWhatItDrawsAsText) {
  const auto page = WriteSuitePage(Document().dump(), "s.json", "hone 1");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->find("<b>relu"), std::string::npos);
  const Json data = DataOf(*page);
  EXPECT_EQ(data["heading"], "problems");
  EXPECT_EQ(data["rows"][0]["name"], "one/2_<b>relu");
  EXPECT_EQ(data["rows"][0]["speedups"], Json({{"eager", 2.0}}));
  EXPECT_FALSE(data["rows"][0].contains("honest"));
  EXPECT_EQ(data["rows"][1]["failure"], "import: torn");
  EXPECT_EQ(data["groups"][0]["over"]["eager"]["geomean"], 2.0);
  EXPECT_EQ(data["sections"].size(), 4U);
  EXPECT_FALSE(data.contains("signature")) << "nothing is in it that is not drawn";
}

TEST(SuitePageTest, SaysHowItWasMadeWhereThatIsKnown) {
  Json document = Document();
  document["made"] = {{"command", "hone optimize --suite problems"}, {"seed", "1"}};
  const auto page = WriteSuitePage(document.dump(), "s.json", "hone 1");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(DataOf(*page)["made"], document["made"]);
  EXPECT_EQ(DataOf(*page)["sections"].back()["id"], "how");
}

TEST(SuitePageTest, WhatThereIsNotHasNoSection) {
  Json document = Document();
  document.erase("helpings");
  for (Json& row : document["rows"]) row["speedups"] = Json::object();
  const auto page = WriteSuitePage(document.dump(), "s.json", "hone");
  ASSERT_TRUE(page) << page.error().message;
  const Json sections = DataOf(*page)["sections"];
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[0]["id"], "standing");
  EXPECT_EQ(sections[1]["id"], "suite");
}

TEST(SuitePageTest, SaysWhatADocumentLacks) {
  EXPECT_EQ(Complaint("no JSON"),
            "s.json: it is no JSON document; `hone optimize --suite ... --json` writes what is wanted");
  EXPECT_NE(Complaint(R"({"rows": []})").find("it has no problems"), std::string::npos);
  Json wrong = Document();
  wrong["rows"][0]["best_us"] = "fast";
  EXPECT_TRUE(Complaint(wrong.dump()).starts_with("s.json: not what came of a suite: ")) << Complaint(wrong.dump());
}

}  // namespace
}  // namespace hone
