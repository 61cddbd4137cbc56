#include "graph/op.h"

#include <gtest/gtest.h>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

TEST(OpTest, OpsAreSortedAndSayWhatAnElementIs) {
  std::string_view last;
  for (const Op* op : AllOps()) {
    EXPECT_LT(last, op->name);
    EXPECT_FALSE(op->doc.empty()) << op->name;
    last = op->name;
  }
}

TEST(OpTest, AnOpIsFoundWithOrWithoutNamespaceAndOverload) {
  for (const auto* name : {"relu", "aten.relu", "aten.relu.default"}) {
    ASSERT_NE(FindOp(name), nullptr) << name;
    EXPECT_EQ(FindOp(name)->name, "relu");
  }
  EXPECT_EQ(FindOp("reluu"), nullptr);
  EXPECT_EQ(FindOp(""), nullptr);
}

TEST(OpTest, TypesPromoteAsInPyTorch) {
  EXPECT_EQ(Promote(DType::kF16, DType::kBF16), DType::kF32);
  EXPECT_EQ(Promote(DType::kI64, DType::kF16), DType::kF16);
  EXPECT_EQ(Promote(DType::kU8, DType::kI8), DType::kI16);
  EXPECT_EQ(Promote(DType::kU8, DType::kI32), DType::kI32);
  EXPECT_EQ(Promote(DType::kBool, DType::kU8), DType::kU8);
  EXPECT_EQ(Promote(DType::kF32, DType::kF64), DType::kF64);
}

TEST(OpTest, ANumberChangesTheTypeOnlyWhenItsCategoryIsHigher) {
  const auto type = [](const std::string& input, const std::string& number, const std::string& made) {
    return Graph::Create(testing::SmallProblem("fp32", "x " + input + " 4", "y " + made + " 4",
                                               R"([{"op": "add", "args": {"self": "%x", "other": )" + number +
                                                   R"(}, "outputs": ["y"]}])"))
        .has_value();
  };
  EXPECT_TRUE(type("f32", "2.5", "f32"));
  EXPECT_TRUE(type("i32", "2", "i32"));
  EXPECT_TRUE(type("i32", "2.5", "f32"));
  EXPECT_TRUE(type("bool", "2", "i64"));
}

TEST(OpTest, ANarrowTypeHoldsAWholeNumberAsWhatItWrapsAroundTo) {
  const auto held = [](std::int64_t number, DType dtype) { return Held(number, dtype)->whole; };
  EXPECT_EQ(held(-2, DType::kU8), 254);
  EXPECT_EQ(held(300, DType::kU8), 44);
  EXPECT_EQ(held(255, DType::kU8), 255);
  EXPECT_EQ(held(128, DType::kI8), -128);
  EXPECT_EQ(held(-129, DType::kI8), 127);
  EXPECT_EQ(held(1 << 20, DType::kI64), 1 << 20);
  EXPECT_EQ(Held(-2.7, DType::kI16)->whole, -2);
  EXPECT_EQ(Held(-2, DType::kF32)->real, -2);
}

TEST(OpTest, APowerThatPyTorchComputesWithoutOneHasNone) {
  const auto has_power = [](const std::string& exponent, const char* type) {
    const std::string output = std::string(type) == "i32" && exponent.find('.') == std::string::npos ? "i32" : "f32";
    const Graph graph =
        SmallGraph("fp32", std::string("x ") + type + " 4", "y " + output + " 4",
                   R"([{"op": "pow", "args": {"self": "%x", "exponent": )" + exponent + R"(}, "outputs": ["y"]}])");
    bool found = false;
    for (const Stage& stage : graph.stages()) {
      Visit(stage.value,
            [&](const ExprNode& node) { found |= node.kind == Expr::Kind::kBinary && node.binary == BinaryOp::kPow; });
    }
    return found;
  };
  for (const auto* exponent : {"0", "1", "2", "3", "-1", "-2", "0.5", "-0.5", "1.0", "-2.0"})
    EXPECT_FALSE(has_power(exponent, "f32")) << exponent;
  for (const auto* exponent : {"0", "1", "2", "3", "-1.0", "0.5"}) EXPECT_FALSE(has_power(exponent, "i32")) << exponent;
  for (const auto* exponent : {"4", "2.5", "-3"}) EXPECT_TRUE(has_power(exponent, "f32")) << exponent;
}

TEST(OpTest, AnElementIsWrappedOnlyWhereItMayNotFit) {
  const Expr element = Load(0, {}, ScalarType::kInt);
  EXPECT_EQ(Held(element, DType::kU8, DType::kI32).get(), element.get());
  EXPECT_NE(Held(element, DType::kI32, DType::kU8).get(), element.get());
}

}  // namespace
}  // namespace hone
