#include "propose/answer.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

std::string Message(std::string_view answer) {
  const auto read = ParseAnswer(answer, "test");
  return read ? "no error" : read.error().message;
}

TEST(AnswerTest, CandidatesComeInTheirOrderWithTheirIdeas) {
  const auto read = ParseAnswer(
      "\nidea: wider loads\r\npredicted_us: 12.5\n```program\nprogram p\n  y = 1\n```\n\n"
      "idea: a module\n````module\n// ```\nint x;\n````\n",
      "mailbox");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].candidate.kind, CandidateKind::kProgram);
  EXPECT_EQ((*read)[0].candidate.text, "program p\n  y = 1\n");
  EXPECT_EQ((*read)[0].key, "wider loads");
  EXPECT_EQ((*read)[0].origin, "mailbox: wider loads");
  EXPECT_EQ((*read)[0].predicted_us, 12.5);
  EXPECT_EQ((*read)[1].candidate.kind, CandidateKind::kModule);
  EXPECT_EQ((*read)[1].candidate.text, "// ```\nint x;\n");
  EXPECT_EQ((*read)[1].predicted_us, 0);
  EXPECT_TRUE(ParseAnswer(" done\n", "test")->empty());
}

TEST(AnswerTest, TheFormThatIsAskedForIsTheOneThatIsRead) {
  const std::string form = AnswerForm();
  const std::string example = form.substr(form.find("idea: two"), form.find("\nKinds:") - form.find("idea: two"));
  const auto read = ParseAnswer(example, "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at(0).predicted_us, 12.5);
}

TEST(AnswerTest, WhateverElseIsRefusedWithItsLine) {
  EXPECT_EQ(Message("Sure! Here it is:\nidea: a\n"),
            "line 1 of the answer: 'Sure! Here it is:' is neither \"idea: ...\", \"predicted_us: ...\" nor a fence; "
            "leave out all else");
  EXPECT_EQ(Message("```program\nx\n```\n"), "line 1 of the answer: a candidate needs a line \"idea: ...\" before it");
  EXPECT_EQ(Message("idea: a\n```program\nx\n"), "line 3 of the answer: the fence of line 2 is not closed");
  EXPECT_EQ(Message("idea: a\n```python\nx\n```\n"),
            "line 2 of the answer: a fence is of a program, module, plan or cuda_module, not of 'python'");
  EXPECT_EQ(Message("idea: a\n```program\n\n```\n"), "line 4 of the answer: the candidate is empty");
  EXPECT_EQ(Message("idea: a\nidea: b\n"), "line 2 of the answer: a second idea before the candidate of the first");
  EXPECT_EQ(Message("idea: a\n```program\nx\n```\nidea: a\n```program\ny\n```\n"),
            "line 8 of the answer: two candidates have the same idea");
  EXPECT_EQ(Message("idea: a\n"), "line 1 of the answer: the last idea has no candidate behind it");
  EXPECT_EQ(Message(""), "line 0 of the answer: there is no candidate; an answer without any is the word done alone");
  EXPECT_EQ(Message("idea: a\npredicted_us: fast\n"),
            "line 2 of the answer: predicted_us is a time in microseconds, not 'fast'");
  for (const char* number : {"-1", "0", "nan", "inf", "1e999", "1 us"})
    EXPECT_NE(Message(std::string("idea: a\npredicted_us: ") + number), "no error") << number;
  EXPECT_EQ(Message(std::string("idea: a\0b", 9)), "the answer is not text in UTF-8");
  EXPECT_EQ(Message("idea: \xff\n"), "the answer is not text in UTF-8");
  EXPECT_NE(Message(std::string(kLongestAnswer + 1, 'x')).find("are the most"), std::string::npos);
  std::string many;
  for (std::size_t i = 0; i <= kMostCandidates; ++i) many += "idea: " + std::to_string(i) + "\n```program\nx\n```\n";
  EXPECT_NE(Message(many).find("at most 8 candidates"), std::string::npos);
  EXPECT_NE(Message("idea: " + std::string(kLongestIdea + 1, 'x')).find("1 to 200 bytes"), std::string::npos);
}

TEST(AnswerTest, WhatDoesTheSameIsNormalisedAlike) {
  const auto same = [](CandidateKind kind, const char* a, const char* b) {
    return Normalised({.kind = kind, .text = a}) == Normalised({.kind = kind, .text = b});
  };
  constexpr auto kModule = CandidateKind::kModule;
  EXPECT_TRUE(same(kModule, "int  x; // one\n\n", "/* two\nlines */ int x;"));
  EXPECT_TRUE(same(kModule, "  f( a );\n", "f( a );"));
  EXPECT_FALSE(same(kModule, "int x = 1;", "int x = 2;"));
  EXPECT_FALSE(same(kModule, "s = \"a  b\"; // c", "s = \"a //b\";"));
  EXPECT_FALSE(same(kModule, "#define A 1\nint x;", "#define A 1 int x;"));
  EXPECT_TRUE(same(CandidateKind::kPlan, R"({"a": 1, "b": [2]})", R"({ "b":[2],"a":1})"));
  EXPECT_FALSE(same(CandidateKind::kPlan, R"({"a": 1})", R"({"a": 2})"));
  const char* program = "program p\ninput  x: f32[4]\noutput y: f32[4]\ny = x\n";
  EXPECT_NE(Normalised({CandidateKind::kProgram, program}), Normalised({kModule, program}));
}

}  // namespace
}  // namespace hone
