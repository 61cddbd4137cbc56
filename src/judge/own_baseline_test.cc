#include "judge/own_baseline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "judge/testing/fake_worker.h"

namespace hone {
namespace {

using testing::FakeCourt;

// A program that answers the one question that it is asked; `body` sees x, a list of floats, and may set y and answer.
OutsideBaseline Program(const std::string& body) {
  const std::string text = R"(
import array, json, mmap, sys
sheet = json.loads(sys.stdin.readline())["give"]
memory = mmap.mmap(3, 0)
row, to = sheet["inputs"][0], sheet["outputs"][0]
x = array.array("f")
x.frombytes(memory[row["at"] : row["at"] + row["bytes"]])
y, answer = x, {"made": True}
)" + body + R"(
memory[to["at"] : to["at"] + to["bytes"]] = array.array("f", y).tobytes()
print(json.dumps(answer), flush=True)
)";
  return {.name = "own",
          .mode = "own",
          .argv = {"/usr/bin/python3", "-I", "-c", text},
          .environment = InheritedEnvironment(),
          .directory = {},
          .own = true};
}

Result<HeldBaseline> Held(const std::string& body) {
  FakeCourt court;  // y = 2 x
  const auto drawn = court.trial().Draw(0);
  EXPECT_TRUE(drawn);
  const auto sheet = CallSheet::Create(court.trial(), court.graph().problem(), **drawn);
  EXPECT_TRUE(sheet);
  const auto process = OutsideProcess::Start(Program(body), false, nullptr, sheet->descriptor());
  EXPECT_TRUE(process);
  return sheet->Hold(**process, court.trial(), **drawn);
}

TEST(OwnBaselineTest, WhatIsMadeOfTheJudgesInputsIsHeldAgainstTheOracle) {
  const auto right = Held("y = [2 * one for one in x]");
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->wrong, "");
  EXPECT_LE(right->error_over_budget, 1);

  const auto wrong = Held("y = [3 * one for one in x]");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_NE(wrong->wrong.find("expected"), std::string::npos) << wrong->wrong;
  EXPECT_NE(wrong->wrong.find("4096 of 4096 elements are wrong"), std::string::npos) << wrong->wrong;
}

TEST(OwnBaselineTest, WhatIsOfAnotherKindIsWrong) {
  const auto unlike = Held(R"(answer = {"unlike": "it makes 2 tensors, not 1"})");
  ASSERT_TRUE(unlike) << unlike.error().message;
  EXPECT_EQ(unlike->wrong, "it makes 2 tensors, not 1");
}

TEST(OwnBaselineTest, ParametersOfItsOwnAreNamedWhereItIsWrong) {
  const auto wrong = Held(R"(answer["strays"] = ["up.weight"])");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_TRUE(wrong->wrong.ends_with("have no name of the problem's, and keep their own values: up.weight"))
      << wrong->wrong;
  const auto right = Held(R"(y, answer["strays"] = [2 * one for one in x], ["up.weight"])");
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->wrong, "");
}

TEST(OwnBaselineTest, AModuleThatCannotBeCalledIsAnError) {
  const auto refused = Held(R"(answer = {"error": "k.py: ImportError: no triton"})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "k.py: ImportError: no triton");
  const auto nonsense = Held(R"(answer = {"hello": 1})");
  ASSERT_FALSE(nonsense);
}

}  // namespace
}  // namespace hone
