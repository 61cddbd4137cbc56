#include "base/record.h"

#include <gtest/gtest.h>

#include <map>

namespace hone {

enum class Metal { kIron, kTin };
constexpr std::string_view kMetals[] = {"iron", "tin"};
std::string_view Name(Metal metal) { return kMetals[static_cast<std::size_t>(metal)]; }
std::optional<Metal> ParseMetal(std::string_view name) { return ParseName<Metal>(kMetals, name); }

struct Span {
  double low = 0, high = 0;
};

struct Screw {
  std::string label;
  std::optional<double> length_mm;
  bool operator==(const Screw&) const = default;
};

// "fine", or "coarse 3".
struct Grade {
  int coarse = 0;
};
std::string Text(const Grade& grade) { return grade.coarse == 0 ? "" : "coarse " + std::to_string(grade.coarse); }
Result<Grade> ParseGrade(std::string_view text) {
  if (!text.starts_with("coarse ")) return Fail(ErrorKind::kUsage, "there is no grade '" + std::string(text) + "'");
  return Grade{text.back() - '0'};
}

struct Box {
  Metal metal = Metal::kIron;
  std::chrono::milliseconds age{5};
  std::optional<Span> weight;
  std::vector<Screw> screws;
  std::map<std::string, double> prices;
  std::vector<std::vector<std::int64_t>> places;
  std::vector<std::string> notes;
  int shelves = 1;
  Grade grade;
};

template <SameAs<Screw> Of>
void Fields(Of& screw, auto&& field) {
  field("label", screw.label);
  field("length_mm", screw.length_mm, kAlways);
}

template <SameAs<Box> Of>
void Fields(Of& box, auto&& field) {
  field("metal", box.metal, ByName<Metal>{Name, ParseMetal});
  field("age_ms", box.age);
  field("low_g", "high_g", box.weight);
  field("screws", box.screws);
  field("prices", box.prices);
  field("places", box.places);
  field("notes", box.notes, kIfAny);
  field("shelves", box.shelves, WrittenUnless{1});
  field("grade", box.grade, ByText<Grade>{Text, ParseGrade});
}

namespace {

using nlohmann::json;

TEST(RecordTest, WhatIsWrittenReadsBack) {
  const Box box{.metal = Metal::kTin,
                .age = std::chrono::milliseconds(70),
                .weight = Span{1, 2.5},
                .screws = {{"a", 3.0}, {"", std::nullopt}},
                .prices = {{"here", 0.5}, {"nowhere", HUGE_VAL}},
                .places = {{1, 2}, {}},
                .notes = {"old"},
                .shelves = 2,
                .grade = {3}};
  const json written = ToRecord(box);
  EXPECT_EQ(written, json::parse(R"({"metal": "tin", "age_ms": 70, "low_g": 1.0, "high_g": 2.5,
      "screws": [{"label": "a", "length_mm": 3.0}, {"length_mm": null}],
      "prices": {"here": 0.5, "nowhere": "inf"}, "places": [[1, 2], []], "notes": ["old"], "shelves": 2, "grade": "coarse 3"})"));
  const auto read = FromRecord<Box>(written, "a box");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ToRecord(*read), written);
  EXPECT_EQ(read->screws, box.screws);
}

TEST(RecordTest, AnEmptyListReplacesOneThatWasThereBefore) {
  Box box;
  box.screws = {{"standing in", 1.0}};
  std::string wrong;
  Fields(box, RecordReader(json::parse(R"({"metal": "iron", "screws": []})"), wrong));
  EXPECT_TRUE(box.screws.empty());
  EXPECT_EQ(wrong, "");
}

TEST(RecordTest, WhatIsNotThereKeepsItsValue) {
  const auto read = FromRecord<Box>(json{{"metal", "iron"}}, "a box");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->age, std::chrono::milliseconds(5));
  EXPECT_FALSE(read->weight);
  EXPECT_EQ(ToRecord(*read), json::parse(R"({"metal": "iron", "age_ms": 5, "low_g": null, "high_g": null, "screws": [],
      "prices": {}, "places": []})"));
}

TEST(RecordTest, WhatIsNoRecordIsCorruptAndSaysWhy) {
  const auto why = [](const char* text) {
    const auto read = FromRecord<Box>(json::parse(text), "a box");
    EXPECT_FALSE(read) << text;
    if (read) return std::string();
    EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
    return read.error().message;
  };
  EXPECT_EQ(why(R"({"metal": "gold"})"), "not a box: it has the unknown metal 'gold'");
  EXPECT_EQ(why(R"({"metal": "tin", "grade": "rough"})"), "not a box: there is no grade 'rough'");
  EXPECT_EQ(why(R"({"metal": "tin", "prices": {"here": "much"}})"), "not a box: 'much' is no number");
  for (const char* text : {"[]", "{}", R"({"metal": 1})", R"({"metal": "tin", "screws": {}})",
                           R"({"metal": "tin", "screws": [1]})", R"({"metal": "tin", "notes": [2]})"})
    EXPECT_TRUE(why(text).starts_with("not a box: ")) << text;
}

TEST(RecordTest, AnErrorGoesFromOneProcessToAnotherByItsKindsName) {
  const json written = ToRecord(Error{ErrorKind::kDevice, "the device is lost", {}});
  EXPECT_EQ(written, (json{{"kind", "device"}, {"message", "the device is lost"}}));
  const auto read = FromRecord<Error>(written, "an error");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, ErrorKind::kDevice);
  EXPECT_EQ(read->message, "the device is lost");
}

TEST(RecordTest, EveryKindOfErrorHasANameThatReadsBack) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::kCorrupt); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    EXPECT_EQ(ParseErrorKind(NameOf(kind)), kind);
  }
  EXPECT_EQ(ParseErrorKind("bad luck"), std::nullopt);
}

}  // namespace
}  // namespace hone
