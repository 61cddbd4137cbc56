// Sums of few neighbours: what kind of statement they are on which kind of machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

std::string Taps(int channels, const DeviceModel& device) {
  return testing::WrittenText(fmt::format(R"({{"hone_problem": 1, "name": "taps", "tensors": [
  {{"name": "x", "shape": [8, {0}, 4], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "w", "shape": [{0}, 4], "dtype": "f32", "role": "parameter", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "y", "shape": [8, {0}], "dtype": "f32", "role": "output"}}], "graph": [
  {{"op": "mul", "args": {{"self": "%x", "other": "%w"}}, "outputs": ["taps"]}},
  {{"op": "sum", "args": {{"self": "%taps", "dim": [2]}}, "outputs": ["y"]}}]}})",
                                          channels),
                              {}, device);
}

TEST(SlowerKindsTest, ManySumsOfFewNeighboursAreANestOnAProcessor) {
  EXPECT_NE(Taps(2048, {}).find("y = nest [i < 8, j < 2048] (sum [k < 4] ("), std::string::npos) << Taps(2048, {});
  EXPECT_NE(Taps(64, {}).find("y = reduce sum(x * w) over [2]"), std::string::npos) << Taps(64, {});
  EXPECT_NE(Taps(2048, TypicalDevice()).find("y = reduce sum(x * w) over [2]"), std::string::npos)
      << Taps(2048, TypicalDevice());
}

TEST(SlowerKindsTest, SumsAcrossRowsStaySums) {
  const std::string text = testing::WrittenText(R"({"hone_problem": 1, "name": "across", "tensors": [
  {"name": "x", "shape": [8, 4, 2048], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "w", "shape": [4, 2048], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [8, 2048], "dtype": "f32", "role": "output"}], "graph": [
  {"op": "mul", "args": {"self": "%x", "other": "%w"}, "outputs": ["taps"]},
  {"op": "sum", "args": {"self": "%taps", "dim": [1]}, "outputs": ["y"]}]})",
                                                {}, {});
  EXPECT_NE(text.find("y = reduce sum(x * w) over [1]"), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
