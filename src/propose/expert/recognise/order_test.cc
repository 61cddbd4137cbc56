// Which graphs of sorting become `order`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// `op` with its arguments makes of x [8, 3, 40] in `type` y and z, of these shapes.
std::string Sorted(const std::string& op, const std::string& arguments, const std::string& shape,
                   const std::string& outputs = R"("y", "z")", const std::string& type = "f32") {
  const bool both = outputs.find("y") != std::string::npos;
  return fmt::format(
      R"({{"hone_problem": 1, "name": "sorted", "tensors": [
  {{"name": "x", "shape": [8, 3, 40], "dtype": "{4}", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {5}{{"name": "z", "shape": {2}, "dtype": "i64", "role": "output"}}],
 "graph": [{{"op": "aten.{0}", "args": {{"self": "%x"{1}}}, "outputs": [{3}]}}]}})",
      op, arguments, shape, outputs, type,
      both ? fmt::format(R"({{"name": "y", "shape": {}, "dtype": "{}", "role": "output"}}, )", shape, type) : "");
}

TEST(OrderRecognisedTest, ElementsComeWithTheirPlaces) {
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string program = WrittenText(Sorted("topk.default", R"(, "k": 5)", "[8, 3, 5]"), {}, device);
    EXPECT_NE(program.find("z = order descending(x) over [2] by {count: 5}"), std::string::npos) << program;
    EXPECT_NE(program.find("\n  also y = it"), std::string::npos) << program;
    EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  }
}

TEST(OrderRecognisedTest, WhatIsInOrderMayLieAlongAnyDimension) {
  const std::string topk = WrittenText(
      Sorted("topk.default", R"(, "k": 2, "dim": 1, "largest": false)", "[8, 2, 40]", R"("y", "z")", "bf16"));
  EXPECT_NE(topk.find("z = order ascending(x) over [1] by {count: 2}"), std::string::npos) << topk;
  EXPECT_NE(topk.find("also y = it"), std::string::npos) << topk;
  const std::string sort = WrittenText(Sorted("sort.default", R"(, "dim": 0, "descending": true)", "[8, 3, 40]"));
  EXPECT_NE(sort.find("z = order descending(x) over [0] by {count: 8}"), std::string::npos) << sort;
  EXPECT_NE(sort.find("also y = it"), std::string::npos) << sort;
  const std::string argsort = WrittenText(Sorted("argsort.default", "", "[8, 3, 40]", R"("z")", "i64"));
  EXPECT_NE(argsort.find("z = order ascending(x) over [2] by {count: 40}"), std::string::npos) << argsort;
}

TEST(OrderRecognisedTest, OneElementIsWanted) {
  const std::string program = WrittenText(Sorted("topk.default", R"(, "k": 1)", "[8, 3, 1]"));
  EXPECT_NE(program.find("z = order descending(x) over [2] by {count: 1}"), std::string::npos) << program;
  EXPECT_NE(program.find("also y = it"), std::string::npos) << program;
}

TEST(OrderRecognisedTest, TakenBackElementsAreLookedUp) {
  const std::string program = WrittenText(Sorted("topk.default", R"(, "k": 5)", "[8, 3, 5]"), {.norms = false});
  EXPECT_NE(program.find("z = order descending(x) over [2] by {count: 5}"), std::string::npos) << program;
  EXPECT_NE(program.find("= nest [i < 24, j < 5] (x_view[i, z_view[i, j]])"), std::string::npos) << program;
}

TEST(OrderRecognisedTest, TakenBackItIsNests) {
  const std::string program = WrittenText(Sorted("topk.default", R"(, "k": 5)", "[8, 3, 5]"), {.products = false});
  EXPECT_EQ(program.find("order"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
