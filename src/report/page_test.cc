#include "report/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "report/attempt_row.h"

namespace hone {

extern const std::string_view kPageScript;

namespace {

using Json = nlohmann::json;

constexpr std::string_view kHostile = "</script><script>alert(1)</script><!-- <script> \"'&@data@\\u003c\xff";

AttemptRecord Tried(int number, int parent) {
  AttemptRecord attempt;
  attempt.number = number;
  attempt.parent = parent;
  attempt.kind = "program";
  attempt.origin = kHostile;
  attempt.started_ms = 1000 * number;
  attempt.ended_ms = attempt.started_ms + 500;
  attempt.outcome = "accepted";
  attempt.median_us = 100.0 / number;
  return attempt;
}

Evaluation Accepted() {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.timing.emplace();
  evaluation.timing->warm.median_us = 50;
  evaluation.timing->against.push_back({.baseline = std::string(kHostile), .speedup = 2});
  return evaluation;
}

RunMaterial Material() {
  RunMaterial material;
  material.run.id = "abc123";
  material.run.problem_name = kHostile;
  material.run.stop_reason = kHostile;
  material.run.baselines = Json({{"eager", 100.0}}).dump();
  material.run.best_attempt = 2;
  material.state = "done";
  material.attempts = {Tried(1, 0), Tried(2, 1)};
  material.evaluations = {Accepted(), Accepted()};
  material.proof = Accepted();
  material.flags = {std::string(kHostile)};
  return material;
}

std::size_t Count(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// What a browser takes for the data.
Json DataOf(const std::string& page) {
  const std::string_view begin = "id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

// All pages have the same script: of two that draw one section the later would draw both.
TEST(PageTest, EachSectionIsDrawnByOneScript) {
  constexpr std::string_view kCall = "\nsection(\"";
  std::set<std::string_view> drawn;
  for (std::size_t at = kPageScript.find(kCall); at != std::string_view::npos; at = kPageScript.find(kCall, at + 1)) {
    const std::string_view id = kPageScript.substr(at + kCall.size());
    EXPECT_TRUE(drawn.insert(id.substr(0, id.find('"'))).second) << id.substr(0, id.find('"'));
  }
  for (const PageSection* section : AllPageSections()) EXPECT_TRUE(drawn.contains(section->name)) << section->name;
  EXPECT_TRUE(drawn.contains("how"));
}

TEST(PageTest, ForeignTextEndsNoScriptAndBeginsNone) {
  const std::string page = WritePage(Material());
  EXPECT_EQ(Count(page, "</script>"), 2U);  // of the data and of ours
  EXPECT_EQ(Count(page, "<script"), 2U);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<!-- <"), std::string::npos);
}

TEST(PageTest, ForeignTextComesBackAsItWas) {
  std::string expected(kHostile);
  expected.replace(expected.size() - 1, 1, "\xef\xbf\xbd");  // what was no UTF-8
  const Json data = DataOf(WritePage(Material()));
  EXPECT_EQ(data["heading"], expected);
  EXPECT_EQ(data["stop_reason"], expected);
  EXPECT_EQ(data["attempts"][0]["origin"], expected);
  EXPECT_EQ(data["sections"][0]["id"], "proof");
  EXPECT_EQ(data["sections"][0]["data"]["timing"]["against"][0]["name"], expected);
}

TEST(PageTest, ThePolicyAllowsItsOwnScriptAndStyleAlone) {
  const std::string page = WritePage(Json{{"sections", Json::array()}});
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(Count(page.substr(0, page.find("<title>")), "'sha256-"), 2U);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  EXPECT_EQ(page.find("@policy@"), std::string::npos);
  EXPECT_EQ(page.find("connect-src"), std::string::npos);
  EXPECT_NE(WritePage(Json{{"live", "data"}}).find("; connect-src 'self'"), std::string::npos);
}

TEST(PageTest, ARunWithoutAttemptsHasAPage) {
  RunMaterial material = Material();
  material.run.best_attempt = 0;
  material.attempts.clear();
  material.evaluations.clear();
  const Json data = DataOf(WritePage(material));
  EXPECT_EQ(data["attempts"].size(), 0U);
  EXPECT_FALSE(data["sections"][0]["data"].contains("timing"));
}

// The data of a section.
Json SectionOf(const Json& data, std::string_view id) {
  for (const Json& section : data["sections"]) {
    if (section["id"] == id) return section["data"];
  }
  return {};
}

TEST(PageTest, DetailsHaveABudgetWhichTheWayToTheBestHasFirst) {
  RunMaterial material = Material();
  material.attempts.clear();
  for (int number = 1; number <= 400; ++number) {
    AttemptRecord attempt = Tried(number, number == 400 ? 7 : 0);
    attempt.median_us = number == 7 ? 1000 : 100 + number;
    attempt.source_blob = std::to_string(number);
    std::string& text = material.texts[attempt.source_blob];
    for (int line = 0; line < 1000; ++line) text += std::to_string(number * 1000 + line) + " of its own\n";
    material.attempts.push_back(std::move(attempt));
  }
  material.evaluations.assign(400, Accepted());
  material.run.best_attempt = 400;
  const std::string page = WritePage(material);
  EXPECT_LT(page.size(), 5'000'000U);
  const Json tree = SectionOf(DataOf(page), "tree");
  EXPECT_EQ(tree["way"], Json::array({7, 400}));
  EXPECT_TRUE(tree["details"].contains("7"));
  EXPECT_TRUE(tree["details"].contains("400"));
  EXPECT_TRUE(tree["details"].contains("1"));     // the fastest of the others
  EXPECT_FALSE(tree["details"].contains("399"));  // the slowest
  EXPECT_EQ(tree["details"].size() + tree["left_out"].get<std::size_t>(), 400U);
}

TEST(PageTest, ASourceIsKeptAsItDiffersFromItsParents) {
  RunMaterial material = Material();
  material.attempts[0].source_blob = "a";
  material.attempts[1].source_blob = "b";
  material.texts = {{"a", "one\ntwo\nthree\nfour\n"}, {"b", "ONE\ntwo\nthree\nFOUR\n"}};
  const Json data = DataOf(WritePage(material));
  const Json details = SectionOf(data, "tree")["details"];
  EXPECT_EQ(details["1"]["source"], Json({{"edits", {"one", "two", "three", "four"}}}));
  EXPECT_EQ(details["2"]["source"], Json({{"like", 1}, {"edits", {-1, "ONE", 2, -1, "FOUR"}}}));
  EXPECT_EQ(SectionOf(data, "way")["steps"][1]["lines"],
            Json::array({"-one", "+ONE", " two", " three", "-four", "+FOUR"}));
}

TEST(PageTest, WhatWasMeasuredAgainStandsInTheProof) {
  RunMaterial material = Material();
  material.confirmations = {{.attempt = 2, .outcome = "accepted", .median_us = 40, .joules = 0.5},
                            {.attempt = 1, .outcome = "refused"}};
  material.confirming_ms = {100, 100};
  material.ranked_us = {0, 35};
  material.proof.timing->energy = Energy{.joules = 0.5, .watts = 300, .sensor = "a <sensor>"};
  const Json proof = SectionOf(DataOf(WritePage(material)), "proof");
  ASSERT_EQ(proof["confirmations"].size(), 2U);
  EXPECT_EQ(proof["confirmations"][0]["joules"], 0.5);
  EXPECT_TRUE(proof["confirmations"][1]["joules"].is_null());
  EXPECT_EQ(proof["confirmations"][0]["ranked_us"], 0) << "by its median";
  EXPECT_EQ(proof["confirmations"][1]["ranked_us"], 35);
  EXPECT_EQ(proof["timing"]["energy"]["sensor"], "a <sensor>");
}

TEST(PageTest, WhatMovesBroughtIsSummedByRule) {
  RunMaterial material = Material();
  material.attempts.push_back(Tried(3, 1));
  material.evaluations.push_back(Accepted());
  for (AttemptRecord& attempt : material.attempts)
    attempt.findings = R"([{"rule": "spills", "title": "registers spill"}, {"rule": "spills"}])";
  material.attempts[1].rule = material.attempts[2].rule = "spills";
  material.attempts[1].promised = material.attempts[2].promised = 0.25;
  material.attempts[1].brought = 0.5;
  material.attempts[2].brought = -0.5;  // made slower: brought nothing
  const Json rules = SectionOf(DataOf(WritePage(material)), "findings")["rules"];
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(rules[0]["fired"], 3);
  EXPECT_EQ(rules[0]["moved"], 2);
  EXPECT_EQ(rules[0]["promised"], 0.5);
  EXPECT_EQ(rules[0]["brought"], 0.5);
  EXPECT_EQ(rules[0]["at"], 2);
}

TEST(AttemptRowTest, CellsOfASpreadsheetAreQuotedAndNoFormulas) {
  std::vector<AttemptRecord> attempts = {Tried(1, 0), Tried(2, 1)};
  attempts[0].origin = "a, \"b\"\nc";
  attempts[1].origin = "=HYPERLINK(1)";
  const std::vector<Evaluation> evaluations(2);
  const std::string csv = AttemptsCsv(attempts, evaluations);
  EXPECT_TRUE(csv.starts_with("number,parent,mate,round,outcome,"));
  EXPECT_NE(csv.find(",\"a, \"\"b\"\"\nc\","), std::string::npos) << csv;
  EXPECT_NE(csv.find(",'=HYPERLINK(1),"), std::string::npos) << csv;
}

TEST(AttemptRowTest, LinesHoldWhatIsKnownWithFindings) {
  std::vector<AttemptRecord> attempts = {Tried(1, 0), Tried(2, 1)};
  attempts[0].findings = R"([{"rule": "spills", "evidence": "<b>"}])";
  attempts[0].limits = R"({"by_analysis": {"class": "memory", "confidence": 1, "why": ""}})";
  attempts[1].ended_ms = 0;  // in flight
  std::vector<Evaluation> evaluations(2);
  evaluations[0].how->stages.check_ms = 12;
  const std::string lines = AttemptsJsonl(attempts, evaluations);
  const Json first = Json::parse(lines.substr(0, lines.find('\n')));
  const Json second = Json::parse(lines.substr(lines.find('\n') + 1));
  EXPECT_EQ(first["class"], "memory");
  EXPECT_EQ(first["check_ms"], 12);
  EXPECT_EQ(first["findings"][0]["evidence"], "<b>");
  EXPECT_FALSE(first.contains("speedup"));
  EXPECT_FALSE(second.contains("outcome"));
  EXPECT_FALSE(second.contains("median_us"));
}

}  // namespace
}  // namespace hone
