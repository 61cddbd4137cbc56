#include "oracle/nest_functions.h"

#include <gtest/gtest.h>

#include <regex>

namespace hone {
namespace {

const std::vector<NestFunctions::Parameter> kOne = {{"R*", "p0", "x"}};

std::size_t Functions(const NestFunctions& functions) {
  const std::string text = functions.Definitions();
  const std::regex one("void Nest[0-9]+\\(");
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), one), std::sregex_iterator()));
}

std::string Loop(int extent, int stride) {
  return "for (std::int64_t i0 = 0; i0 < " + std::to_string(extent) + "; ++i0) p0[i0 * " + std::to_string(stride) +
         "] = R(0);\n";
}

TEST(NestFunctionsTest, NestsThatDifferInSizesAreOneFunction) {
  NestFunctions functions;
  const std::string first = functions.Call(Loop(16, 40), kOne, "1"), second = functions.Call(Loop(24, 50), kOne, "1");
  EXPECT_EQ(Functions(functions), 1);
  EXPECT_EQ(functions.WithCalls(first), "Nest0<R>(16, 40, x, value, scale, 1);");
  EXPECT_EQ(functions.WithCalls("a " + second + " b"), "a Nest0<R>(24, 50, x, value, scale, 1); b");
}

TEST(NestFunctionsTest, ANumberThatIsTheSameInEveryCallIsOneParameter) {
  NestFunctions functions;
  const std::string call = functions.Call(Loop(16, 16), kOne, "1");
  EXPECT_EQ(functions.WithCalls(call), "Nest0<R>(16, x, value, scale, 1);");
}

TEST(NestFunctionsTest, NumbersThatAreTheSameByChanceAreNoFormOfTheirOwn) {
  NestFunctions functions;
  const std::string by_chance = functions.Call(Loop(16, 16), kOne, "1");
  const std::string other = functions.Call(Loop(16, 40), kOne, "threads");
  EXPECT_EQ(Functions(functions), 1);
  EXPECT_EQ(functions.WithCalls(by_chance), "Nest0<R>(16, 16, x, value, scale, 1);");
  EXPECT_EQ(functions.WithCalls(other), "Nest0<R>(16, 40, x, value, scale, threads);");
}

TEST(NestFunctionsTest, DivisorsAndWindowsStay) {
  NestFunctions functions;
  const auto call = [&](const std::string& body) { return functions.WithCalls(functions.Call(body, kOne, "1")); };
  EXPECT_EQ(call("p0[FloorDiv(i0, std::int64_t{48})];"), "Nest0<R>(x, value, scale, 1);");
  EXPECT_EQ(call("Sum<R> r0;\nfor (std::int64_t i0 = 0; i0 < 3; ++i0) ;"), "Nest1<R>(x, value, scale, 1);");
  EXPECT_EQ(call("p0[(i0 - std::int64_t{48})];"), "Nest2<R>(48, x, value, scale, 1);");
  EXPECT_EQ(call("Less((i0 * std::int64_t{2}), std::int64_t{25})"), "Nest3<R>(25, x, value, scale, 1);");
}

TEST(NestFunctionsTest, WhatParametersAreIsPartOfTheForm) {
  NestFunctions functions;
  functions.Call(Loop(16, 40), kOne, "1");
  functions.Call(Loop(16, 40), {{"double*", "p0", "x"}}, "1");
  EXPECT_EQ(Functions(functions), 2);
}

}  // namespace
}  // namespace hone
