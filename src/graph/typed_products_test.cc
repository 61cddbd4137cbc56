// Types of products, where the call says them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

bool Gives(const std::string& node, const std::string& inputs, const std::string& output) {
  return Graph::Create(testing::SmallProblem("fp32", inputs, "y " + output, "[" + node + "]")).has_value();
}

TEST(ProductsTest, AreOfTheTypeThatTheCallSays) {
  const struct {
    const char *op, *arguments, *inputs, *shape;
  } products[] = {
      {"aten.mm.dtype", R"("self": "%a", "mat2": "%b")", "a bf16 2x3, b bf16 3x4", "2x4"},
      {"aten.bmm.dtype", R"("self": "%a", "mat2": "%b")", "a bf16 5x2x3, b bf16 5x3x4", "5x2x4"},
      {"aten.addmm.dtype", R"("self": "%c", "mat1": "%a", "mat2": "%b")", "a bf16 2x3, b bf16 3x4, c f32 4", "2x4"},
      {"aten.baddbmm.dtype", R"("self": "%c", "batch1": "%a", "batch2": "%b")", "a bf16 5x2x3, b bf16 5x3x4, c f32 4",
       "5x2x4"},
  };
  for (const auto& one : products) {
    const auto node = [&](std::string_view more) {
      return fmt::format(R"({{"op": "{}", "args": {{{}{}}}, "outputs": ["y"]}})", one.op, one.arguments, more);
    };
    const std::string shape = one.shape;
    EXPECT_TRUE(Gives(node(R"(, "out_dtype": "f32")"), one.inputs, "f32 " + shape)) << one.op;
    EXPECT_FALSE(Gives(node(R"(, "out_dtype": "f32")"), one.inputs, "bf16 " + shape)) << one.op;
    EXPECT_TRUE(Gives(node(""), one.inputs, "bf16 " + shape)) << one.op;
  }
}

TEST(ProductsTest, WholeNumbersOfEightBitsGiveSuchOf32) {
  const std::string node = R"({"op": "aten._int_mm.default", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]})";
  EXPECT_TRUE(Gives(node, "a i8 2x3, b i8 3x4", "i32 2x4"));
  EXPECT_FALSE(Gives(node, "a bf16 2x3, b bf16 3x4", "i32 2x4"));
}

TEST(MaskedPutTest, AMaskTakesTheSameAtAllOfItsPlaces) {
  const std::string node =
      R"({"op": "aten.index_put.default", "args": {"self": "%x", "indices": ["%m"], "values": "%v"}, "outputs": ["y"]})";
  EXPECT_TRUE(Gives(node, "x f32 3x4, m bool 3x4, v f32 -", "f32 3x4"));
  EXPECT_TRUE(Gives(node, "x f32 3x4, m bool 3, v f32 4", "f32 3x4"));
  EXPECT_FALSE(Gives(node, "x f32 3x4, m bool 3x4, v f32 7", "f32 3x4"));
  EXPECT_FALSE(Gives(node, "x f32 3x4, m bool 4, v f32 -", "f32 3x4"));
}

}  // namespace
}  // namespace hone
