#include "dsl/cuda/channels_last.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

constexpr const char* kBySetting = " with {path: library, precision: tf32, layout: channels_last";

Plan PlanOf(const std::string& text) {
  const auto lowered = Lower(text, nullptr, TypicalDevice());
  const auto* program = std::get_if<KernelProgram>(&lowered);
  EXPECT_NE(program, nullptr) << ToString(std::get<Complaint>(lowered));
  return program ? EmitCuda(*program) : Plan{};
}

// "turn conv map": what the steps are, kernels by the last word of their names.
std::string Words(const std::vector<PlanStep>& steps) {
  std::string words;
  for (const auto& step : steps) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    const std::string word = launch ? launch->kernel.substr(launch->kernel.rfind('_') + 1) : "conv";
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

const ConvolutionStep& Call(const Plan& plan, std::size_t at) { return std::get<ConvolutionStep>(plan.steps.at(at)); }

using Strides = std::vector<std::int64_t>;

std::string One(const std::string& end, const std::string& more = "") {
  return "program p\ninput x: f32[2, 8, 9, 11]\nparam w: f32[16, 8, 3, 3]\nparam b: f32[16]\n"
         "output y: f32[2, 16, 9, 11]\nview c = b: [16, 1, 1] strides [1, 1, 1]\ny = conv(x, w) by {padding: 1}" +
         std::string(kBySetting) + more + "}" + end;
}

TEST(ChannelsLastTest, OperandsAreCopiedAndTheEndWritesTheResultAsItHasToLie) {
  const Plan plan = PlanOf(One(" -> tanh(it + c)"));
  EXPECT_EQ(Words(plan.prepare), "map") << "parameters are copied once";
  ASSERT_EQ(Words(plan.steps), "turn conv turn");
  const auto& call = Call(plan, 1);
  EXPECT_EQ(call.x.shape, (Shape{2, 8, 9, 11}));
  EXPECT_EQ(call.x.strides, (Strides{792, 1, 88, 8}));
  EXPECT_EQ(call.w.strides, (Strides{72, 1, 24, 8}));
  EXPECT_EQ(call.y.shape, (Shape{2, 16, 9, 11}));
  EXPECT_EQ(call.y.strides, (Strides{1584, 1, 176, 16}));
  EXPECT_NE(call.y.buffer, "y");
}

TEST(ChannelsLastTest, AWindowMayBeOneWide) {
  const Plan plan = PlanOf(
      fmt::format("program p\ninput x: f32[2, 8, 9, 11]\nparam w: f32[16, 8, 3, 1]\noutput y: f32[2, 16, 7, 11]\n"
                  "y = conv(x, w){}}}",
                  kBySetting));
  EXPECT_EQ(Call(plan, 1).w.strides, (Strides{24, 1, 8, 8}));
}

TEST(ChannelsLastTest, AnEndOfTheLibrarysOwnIsCopiedOnly) {
  const Plan plan = PlanOf(One(" -> relu(it + c)", ", end: library"));
  ASSERT_EQ(Words(plan.steps), "turn conv turn");
  EXPECT_TRUE(Call(plan, 1).bias);
  EXPECT_EQ(Call(plan, 1).activation, Activation::kRelu);
}

TEST(ChannelsLastTest, WithoutTheSettingNothingIsCopied) {
  std::string text = One(" -> relu(it + c)");
  text.replace(text.find("channels_last"), 13, "channels_first");
  const Plan plan = PlanOf(text);
  EXPECT_EQ(Words(plan.steps), "conv");
  EXPECT_TRUE(plan.prepare.empty());
  EXPECT_EQ(Call(plan, 0).y.buffer, "y");
}

// A residual block: what lies between two convolutions lies as the second wants it, and what is added likewise.
TEST(ChannelsLastTest, BetweenConvolutionsNothingIsCopied) {
  const std::string conv = std::string(" by {padding: 1}") + kBySetting;
  const Plan plan = PlanOf(
      "program p\ninput x: f32[2, 8, 9, 11]\nparam v: f32[8, 8, 3, 3]\nparam w: f32[8, 8, 3, 3]\nparam b: f32[8]\n"
      "output y: f32[2, 8, 9, 11]\nview c = b: [8, 1, 1] strides [1, 1, 1]\n"
      "h = conv(x, v)" +
      conv +
      ", end: library} -> relu(it + c)\n"
      "g = conv(h, w)" +
      conv +
      ", end: map} -> relu(it + h)\n"
      "y = map(g) -> it * 2");
  ASSERT_EQ(Words(plan.steps), "turn conv conv map turn") << "what leaves the program is turned in squares";
  EXPECT_EQ(Call(plan, 1).y.buffer, "h");
  EXPECT_EQ(Call(plan, 2).x.buffer, "h");
  EXPECT_EQ(Call(plan, 2).x.strides, (Strides{792, 1, 88, 8}));
  EXPECT_EQ(Call(plan, 2).y.buffer, "g");
}

// Rows that go through channels and pixels together cannot be walked the other way: such a value is written as before.
// Of 16 bits there is one precision, and no value to begin with: what is set stays.
TEST(ChannelsLastTest, AReadersPrecisionMayBeSetThatHasNoValues) {
  const std::string set = " by {padding: 1} with {path: tiles, precision: tf32, layout: channels_last}";
  const Plan plan = PlanOf(
      "program p\ninput x: bf16[2, 64, 9, 11]\nparam w: bf16[64, 64, 3, 3]\nparam v: bf16[64, 64, 3, 3]\n"
      "output z: bf16[2, 64, 9, 11]\ny: bf16 = conv(x, w)" +
      set + "\nz = conv(y, v)" + set);
  EXPECT_EQ(Words(plan.steps), "turn products products");
}

TEST(ChannelsLastTest, WhoReadsAcrossPlanesReadsAPlainCopy) {
  const Plan plan = PlanOf(
      "program p\ninput x: f32[2, 8, 9, 11]\nparam w: f32[8, 8, 3, 3]\noutput y: f32[2, 792]\n"
      "h = conv(x, w) by {padding: 1}" +
      std::string(kBySetting) +
      "}\n"
      "view rows = h: [2, 792] strides [792, 1]\ny = softmax(rows) over [1]");
  ASSERT_EQ(Call(plan, 1).y.strides, (Strides{792, 1, 88, 8}));
  EXPECT_NE(Call(plan, 1).y.buffer, "h");
}

// Windows side by side move elements only, in packs, where they neither overlap nor reach over an edge.
TEST(ChannelsLastTest, MeansOfPlanesReadChannelsSideBySide) {
  const auto mean = [](const std::string& with) {
    const Plan plan = PlanOf(
        "program p\ninput x: f32[2, 8, 9, 11]\nparam w: f32[16, 8, 3, 3]\noutput y: f32[32]\n"
        "c: f32 = conv(x, w) by {padding: 1}" +
        std::string(kBySetting) + ", end: map}\nview planes = c: [32, 99] strides [99, 1]\n" +
        "y = reduce mean(planes) over [1]" + with + "\n");
    return plan.sources.empty() ? std::string() : plan.sources[0].text;
  };
  for (const std::string with : {"", " with {lanes: 128}"}) {
    const std::string text = mean(with);
    const auto fold = text.find("t_y_fold(");
    ASSERT_NE(fold, std::string::npos) << text;
    EXPECT_NE(text.find("t_c_pack", fold), std::string::npos) << text;  // four channels of a pixel at a time
  }
}

TEST(ChannelsLastTest, PatchesAreCopiedByAMap) {
  const auto copied = [](const std::string& x, const std::string& w, const std::string& by, const std::string& y) {
    return Words(PlanOf(fmt::format("program p\ninput x: bf16[{}]\nparam w: bf16[{}]\noutput y: bf16[{}]\n"
                                    "y = conv(x, w) by {{{}}} with {{path: tiles, window: whole}}",
                                    x, w, y, by))
                     .steps);
  };
  EXPECT_EQ(copied("2, 3, 16, 16", "16, 3, 4, 4", "stride: 4", "2, 16, 4, 4"), "map products");
  EXPECT_EQ(copied("2, 16, 16, 18", "16, 16, 4, 4", "stride: 4", "2, 16, 4, 4"), "map products");
  EXPECT_EQ(copied("2, 3, 16, 16", "16, 3, 4, 4", "stride: 4, padding: 1", "2, 16, 4, 4").substr(0, 4), "nest");
  EXPECT_EQ(copied("2, 3, 16, 16", "16, 3, 4, 4", "stride: 3", "2, 16, 5, 5").substr(0, 4), "nest");
  EXPECT_EQ(copied("2, 3, 14, 14", "16, 3, 7, 7", "stride: 7", "2, 16, 2, 2").substr(0, 4), "nest")
      << "channels are rounded up";
}

TEST(ChannelsLastTest, StridesOfThreeDimensions) {
  EXPECT_EQ(ChannelsLastStrides({2, 3, 5}), (Strides{15, 1, 3}));
  EXPECT_EQ(ChannelsLastStrides({2, 3, 4, 5, 6}), (Strides{360, 1, 90, 18, 3}));
}

}  // namespace
}  // namespace hone::dsl
