#include "search/memory_file.h"

#include <gtest/gtest.h>

#include "base/testing/must.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

constexpr std::string_view kPiece =
    "program piece\n"
    "input  n1: f32[64, 300]\n"
    "output n0: f32[64, 300]\n"
    "n0 = softmax(n1 * 0.5) over [1]\n";

ProvenRecord Proven() {
  ProvenRecord piece = SomeProven();
  piece.text = kPiece;
  return piece;
}

const MemoryFile kMemory{{Proven()}, {SomeLesson()}};

TEST(MemoryFileTest, WhatIsWrittenIsReadAgainWhole) {
  const std::string lines = ToLines(kMemory);
  const MemoryFile read = Must(ReadMemory(lines, "m.jsonl"));
  ASSERT_EQ(read.proven.size(), 1u);
  ASSERT_EQ(read.lessons.size(), 1u);
  EXPECT_EQ(read.proven[0].settings, SomeProven().settings);
  EXPECT_EQ(read.lessons[0].limited_by, SomeLesson().limited_by);
  EXPECT_EQ(ToLines(read), lines);
}

// The message for a file whose second line has this in place of that.
std::string Refusal(const std::string& that, const std::string& with) {
  std::string lines = ToLines(kMemory);
  const std::size_t at = lines.find(that);
  EXPECT_NE(at, std::string::npos) << that;
  lines.replace(at, that.size(), with);
  const auto read = ReadMemory(lines, "m.jsonl");
  EXPECT_FALSE(read) << with;
  if (read) return "";
  EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos) << read.error().message;
  return read.error().message;
}

TEST(MemoryFileTest, HostileFilesAreRefusedWithTheirLine) {
  EXPECT_EQ(Refusal(R"("target":"cpu")", R"("target":"tpu")"), "m.jsonl:2: its target is 'tpu', not cpu or cuda");
  EXPECT_EQ(Refusal("program piece", "program \\u001b[31m"), "m.jsonl:2: 'text' holds a control character");
  EXPECT_EQ(Refusal("program piece", std::string(30'000, 'x')), "m.jsonl:2: 'text' is longer than 20000 bytes");
  EXPECT_EQ(Refusal("program piece", std::string(200'000, 'x')), "m.jsonl:2: it is longer than 100000 bytes");
  EXPECT_EQ(Refusal(R"("share":0.5)", R"("share":-1)"), "m.jsonl:2: share is -1, not of 0 to 1");
  EXPECT_EQ(Refusal(R"("gain":1.5)", R"("gain":"inf")"), "m.jsonl:2: gain is inf, not of 1 to 1000000000");
  EXPECT_EQ(Refusal(R"({"vector":"32"})", R"(["vector"])"), "m.jsonl:2: 'settings' is a list, and no field is");
  EXPECT_NE(Refusal(R"({"vector":"32"})", R"({"vector":32})").find("m.jsonl:2: "), std::string::npos);
  EXPECT_EQ(Refusal(R"("outcome":"accepted")", R"("outcome":"splendid")"),
            "m.jsonl:3: its outcome is 'splendid', which is none");
  EXPECT_EQ(Refusal(R"("gain":0.25)", R"("gain":300)"), "m.jsonl:3: gain is 300, not of -20 to 20");
  EXPECT_EQ(Refusal(R"("attempt":2)", R"("attempt":-2)"), "m.jsonl:3: attempt is -2, not of 1 to 1000000000");
  EXPECT_NE(Refusal(R"({"lesson")", R"({"proven":{},"lesson")").find("m.jsonl:3: it is neither"), std::string::npos);
  EXPECT_NE(Refusal(R"({"hone_memory": 1})", R"({"hone_table": 1})").find("m.jsonl:1: the first line"),
            std::string::npos);
  EXPECT_EQ(Refusal(R"({"lesson")", "lesson"), "m.jsonl:3: it is no JSON object");
  EXPECT_EQ(Refusal(R"("gain":0.25)", R"("gain":[0.25])"), "m.jsonl:3: 'gain' is a list, and no field is");
  EXPECT_EQ(Refusal(R"("gain":0.25)", R"("gain":"much")"), "m.jsonl:3: \"gain\" of a lesson cannot be \"much\"");
  EXPECT_TRUE(
      Refusal("softmax(", "softmx(").starts_with("m.jsonl:2: the text of piece k1 is no program: line 4, column "))
      << Refusal("softmax(", "softmx(");
  EXPECT_NE(Refusal("program piece", "piece").find("the text of piece k1 is no program: line 1"), std::string::npos);
  EXPECT_FALSE(ReadMemory("", "m.jsonl"));
}

}  // namespace
}  // namespace hone
