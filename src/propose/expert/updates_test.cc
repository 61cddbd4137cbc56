// Outputs that are written into inputs: what the expert writes where they are read, too.
#include "propose/expert/updates.h"

#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

// Of a text, with its outputs in order.
std::string Ordered(const std::string& text) {
  auto parsed = dsl::Parse("program p\n" + text);
  auto* program = std::get_if<dsl::Program>(&parsed);
  EXPECT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(parsed));
  if (program == nullptr) return "";
  const dsl::Program ordered = OrderUpdates(*program, {});
  const auto checked = dsl::Check(ordered, nullptr, {});
  const auto* complaint = std::get_if<dsl::Complaint>(&checked);
  EXPECT_EQ(complaint, nullptr) << complaint->message << "\n" << dsl::Print(ordered);
  const std::string printed = dsl::Print(ordered);
  return printed.substr(printed.rfind("output"));
}

TEST(UpdatesTest, WhoReadsTheInputComesBefore) {
  EXPECT_EQ(Ordered("input x: f32[4]\noutput y: f32[4] updates x\noutput z: f32[4]\ny = map(x) -> it + 1\n"
                    "z = map(x) -> it * 2\n"),
            "output z: f32[4]\nz = map(x) -> it * 2\ny = map(x) -> it + 1\n");
}

TEST(UpdatesTest, WhoReadsBothGetsAValue) {
  EXPECT_EQ(Ordered("input x: f32[4]\noutput y: f32[4] updates x\noutput z: f32[4]\ny = map(x) -> it + 1\n"
                    "z = map(x) -> it * y\n"),
            "output z: f32[4]\ny_value: f32 = map(x) -> it + 1\nz = map(x) -> it * y_value\ny = map(y_value)\n");
}

TEST(UpdatesTest, ReadingOtherPlacesMakesAValue) {
  EXPECT_EQ(Ordered("input x: f32[4]\ninput w: f32[4]\noutput v: f32[4] updates w\noutput y: f32[4] updates x\n"
                    "view turned = x: [4] strides [-1] offset 3\ny = map(turned)\nv = map(w) -> it * 2\n"),
            "output y: f32[4] updates x\nview turned = x: [4] strides [-1] offset 3\ny_value: f32 = map(turned)\n"
            "v = map(w) -> it * 2\ny = map(y_value)\n");
}

constexpr std::string_view kStep = R"({"hone_problem": 1, "name": "step", "tensors": [
    {"name": "q", "shape": [2, 4, 1, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "k", "shape": [2, 4, 1, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "v", "shape": [2, 4, 1, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "keys", "shape": [2, 4, 512, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "values", "shape": [2, 4, 512, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "y", "shape": [2, 4, 1, 64], "dtype": "bf16", "role": "output"},
    {"name": "keys_after", "shape": [2, 4, 512, 64], "dtype": "bf16", "role": "output", "updates": "keys"},
    {"name": "values_after", "shape": [2, 4, 512, 64], "dtype": "bf16", "role": "output", "updates": "values"}], "graph": [
    {"op": "slice_scatter", "args": {"self": "%keys", "src": "%k", "dim": 2, "start": 511, "end": 512}, "outputs": ["keys_after"]},
    {"op": "slice_scatter", "args": {"self": "%values", "src": "%v", "dim": 2, "start": 511, "end": 512}, "outputs": ["values_after"]},
    {"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%keys_after", "value": "%values_after"}, "outputs": ["y"]}]})";

TEST(UpdatesTest, AttentionReadsTheCacheWhereItIsWritten) {
  const std::string text = testing::WrittenText(std::string(kStep));
  EXPECT_NE(text.find("attention(q_view, keys_after_view, values_after_view)"), std::string::npos) << text;
  EXPECT_EQ(text.find("_value"), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
