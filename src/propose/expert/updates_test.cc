// Outputs that are written into inputs: what the expert writes where they are read, too.
#include "propose/expert/updates.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

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

// Tensors of a problem: "x f32 [4, 64]", with a role behind where they are no inputs.
std::string Tensors(const std::vector<std::array<std::string, 3>>& tensors) {
  std::string list;
  for (const auto& [name, shape, role] : tensors) {
    list += (list.empty() ? "" : ", ") + (R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": "f32", )");
    if (role.starts_with("output")) {
      list += R"("role": "output")" + role.substr(6);
    } else {
      list += R"("role": ")" + role + R"(", "generator": {"kind": "normal", "mean": 0, "deviation": 1})";
    }
    list += "}";
  }
  return list;
}

std::size_t StatementsOf(const std::string& text) {
  const auto parsed = dsl::Parse(text);
  return std::get<dsl::Program>(parsed).statements.size();
}

// A step of a state space layer: a window of four inputs moves on, and so does its state.
const std::string kLayer = R"({"hone_problem": 1, "name": "layer", "tensors": [)" +
                           Tensors({{"x", "[4, 64]", "input"},
                                    {"step", "[4, 64]", "input"},
                                    {"B", "[4, 16]", "input"},
                                    {"C", "[4, 16]", "input"},
                                    {"w", "[64, 4]", "parameter"},
                                    {"A", "[64, 16]", "parameter"},
                                    {"D", "[64]", "parameter"},
                                    {"window", "[4, 64, 4]", "input"},
                                    {"state", "[4, 64, 16]", "input"},
                                    {"y", "[4, 64]", "output"},
                                    {"window_after", "[4, 64, 4]", R"(output, "updates": "window")"},
                                    {"state_after", "[4, 64, 16]", R"(output, "updates": "state")"}}) +
                           R"(], "graph": [
    {"op": "slice", "args": {"self": "%window", "dim": 2, "start": 1, "end": 4}, "outputs": ["last"]},
    {"op": "unsqueeze", "args": {"self": "%x", "dim": 2}, "outputs": ["now"]},
    {"op": "cat", "args": {"tensors": ["%last", "%now"], "dim": 2}, "outputs": ["window_after"]},
    {"op": "mul", "args": {"self": "%window_after", "other": "%w"}, "outputs": ["taps"]},
    {"op": "sum", "args": {"self": "%taps", "dim": [2]}, "outputs": ["conv"]},
    {"op": "exp", "args": {"self": "%step"}, "outputs": ["e"]},
    {"op": "log1p", "args": {"self": "%e"}, "outputs": ["dt"]},
    {"op": "unsqueeze", "args": {"self": "%dt", "dim": 2}, "outputs": ["dt_row"]},
    {"op": "mul", "args": {"self": "%dt_row", "other": "%A"}, "outputs": ["rate"]},
    {"op": "exp", "args": {"self": "%rate"}, "outputs": ["decay"]},
    {"op": "mul", "args": {"self": "%state", "other": "%decay"}, "outputs": ["left"]},
    {"op": "mul", "args": {"self": "%dt", "other": "%conv"}, "outputs": ["dx"]},
    {"op": "unsqueeze", "args": {"self": "%dx", "dim": 2}, "outputs": ["dx_row"]},
    {"op": "unsqueeze", "args": {"self": "%B", "dim": 1}, "outputs": ["B_row"]},
    {"op": "mul", "args": {"self": "%dx_row", "other": "%B_row"}, "outputs": ["more"]},
    {"op": "add", "args": {"self": "%left", "other": "%more"}, "outputs": ["state_after"]},
    {"op": "unsqueeze", "args": {"self": "%C", "dim": 1}, "outputs": ["C_row"]},
    {"op": "mul", "args": {"self": "%state_after", "other": "%C_row"}, "outputs": ["terms"]},
    {"op": "sum", "args": {"self": "%terms", "dim": [2]}, "outputs": ["s"]},
    {"op": "mul", "args": {"self": "%D", "other": "%conv"}, "outputs": ["skip"]},
    {"op": "add", "args": {"self": "%s", "other": "%skip"}, "outputs": ["y"]}]})";

TEST(UpdatesTest, AStateIsMadeWithTheSumOfItsRows) {
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const std::string text = testing::WrittenText(kLayer, {}, device);
    EXPECT_EQ(StatementsOf(text), 3u) << text;
    EXPECT_EQ(text.find("_value"), std::string::npos) << text;
    EXPECT_NE(text.find("window_after: [4, 64, 4] = nest"), std::string::npos) << text;
    EXPECT_NE(text.find("conv = reduce sum(window_after * w) over [2]"), std::string::npos) << text;
    EXPECT_NE(text.find("state_after = norm(state * exp(log1p(exp(step_view)) * A) + "), std::string::npos) << text;
    EXPECT_NE(text.find("also y: [4, 64] = y_2 + D_view * conv"), std::string::npos) << text;
  }
}

TEST(UpdatesTest, WithoutNormsTheSumReadsTheState) {
  const std::string text = testing::WrittenText(kLayer, {.norms = false});
  EXPECT_EQ(text.find("norm("), std::string::npos) << text;
  EXPECT_NE(text.find("reduce sum(state_after * C_view) over [2]"), std::string::npos) << text;
}

// Heads whose sums are rows of a product, in one dimension where the state has two.
TEST(UpdatesTest, SumsAreOfTheStateInItsOwnDimensions) {
  const std::string text =
      testing::WrittenText(R"({"hone_problem": 1, "name": "heads", "tensors": [)" +
                           Tensors({{"a", "[2, 4]", "input"},
                                    {"x", "[2, 4, 8]", "input"},
                                    {"B", "[2, 16]", "input"},
                                    {"C", "[2, 16, 1]", "input"},
                                    {"D", "[4, 1]", "parameter"},
                                    {"state", "[2, 4, 8, 16]", "input"},
                                    {"y", "[2, 4, 8]", "output"},
                                    {"state_after", "[2, 4, 8, 16]", R"(output, "updates": "state")"}}) +
                           R"(], "graph": [
    {"op": "reshape", "args": {"self": "%a", "shape": [2, 4, 1, 1]}, "outputs": ["decay"]},
    {"op": "mul", "args": {"self": "%state", "other": "%decay"}, "outputs": ["left"]},
    {"op": "reshape", "args": {"self": "%x", "shape": [2, 4, 8, 1]}, "outputs": ["x_row"]},
    {"op": "reshape", "args": {"self": "%B", "shape": [2, 1, 1, 16]}, "outputs": ["B_row"]},
    {"op": "mul", "args": {"self": "%x_row", "other": "%B_row"}, "outputs": ["more"]},
    {"op": "add", "args": {"self": "%left", "other": "%more"}, "outputs": ["state_after"]},
    {"op": "reshape", "args": {"self": "%state_after", "shape": [2, 32, 16]}, "outputs": ["rows"]},
    {"op": "bmm", "args": {"self": "%rows", "mat2": "%C"}, "outputs": ["s"]},
    {"op": "reshape", "args": {"self": "%s", "shape": [2, 4, 8]}, "outputs": ["heads"]},
    {"op": "mul", "args": {"self": "%D", "other": "%x"}, "outputs": ["skip"]},
    {"op": "add", "args": {"self": "%heads", "other": "%skip"}, "outputs": ["y"]}]})");
  EXPECT_EQ(StatementsOf(text), 1u) << text;
  EXPECT_NE(text.find("state_after = norm("), std::string::npos) << text;
  EXPECT_NE(text.find("also y: [2, 4, 8] = y_2 + D"), std::string::npos) << text;
}

// A delta rule: what is written reads a sum of what was there, and is summed itself.
TEST(UpdatesTest, ANormThatIsWrittenHasFurtherSums) {
  const std::string text =
      testing::WrittenText(R"({"hone_problem": 1, "name": "delta", "tensors": [)" +
                           Tensors({{"q", "[2, 32, 1]", "input"},
                                    {"k", "[2, 32, 1]", "input"},
                                    {"v", "[2, 1, 24]", "input"},
                                    {"g", "[2, 1, 1]", "input"},
                                    {"state", "[2, 32, 24]", "input"},
                                    {"y", "[2, 24]", "output"},
                                    {"state_after", "[2, 32, 24]", R"(output, "updates": "state")"}}) +
                           R"(], "graph": [
    {"op": "mul", "args": {"self": "%state", "other": "%g"}, "outputs": ["left"]},
    {"op": "mul", "args": {"self": "%left", "other": "%k"}, "outputs": ["seen"]},
    {"op": "sum", "args": {"self": "%seen", "dim": [1], "keepdim": true}, "outputs": ["memory"]},
    {"op": "sub", "args": {"self": "%v", "other": "%memory"}, "outputs": ["delta"]},
    {"op": "mul", "args": {"self": "%k", "other": "%delta"}, "outputs": ["more"]},
    {"op": "add", "args": {"self": "%left", "other": "%more"}, "outputs": ["state_after"]},
    {"op": "mul", "args": {"self": "%state_after", "other": "%q"}, "outputs": ["terms"]},
    {"op": "sum", "args": {"self": "%terms", "dim": [1]}, "outputs": ["y"]}]})");
  EXPECT_EQ(StatementsOf(text), 1u) << text;
  EXPECT_NE(text.find("let delta = sum(state * g * k)"), std::string::npos) << text;
  EXPECT_NE(text.find("also y: [2, 24] = "), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
