// Sums become ends of the products that make their terms, wherever the sums' readers want them.
#include "propose/expert/turned_streams.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/program.h"
#include "dsl/testing/interpreter.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

// Two blocks of a stream of images [2, 8, 4, 6], each with a product over channels and a sum; `lies`: the strides of
// the stream that comes in.
std::string Stream(const std::string& lies, const std::string& rest = "") {
  return fmt::format(
      R"(program stream
input  x: f32[384]
param  w: f32[8, 8]
param  g: f32[8]
param  f: f32[8, 1, 3, 3]
output y: f32[2, 8, 4, 6]
output z: f32[2, 8, 4, 6]
view image = x: [2, 8, 4, 6] strides {0}
view gamma = g: [8, 1, 1] strides [1, 0, 0]
view rows = x: [48, 8] strides [8, 1]
first: f32 = matmul(rows, w)
view made = first: [2, 8, 4, 6] strides [192, 1, 48, 8]
sum: f32 = map(made * gamma + image)
middle: f32 = conv(sum, f) by {{padding: 1x1, groups: 8}}
view pixels = middle: [48, 8] strides [8, 1]
second: f32 = matmul(pixels, w) -> tanh(it)
view again = second: [2, 8, 4, 6] strides [192, 1, 48, 8]
further: f32 = map(again * gamma + sum)
view read = further: [2, 8, 24] strides [192, 24, 1]
{1}
)",
      lies, rest.empty() ? "y: [2, 8, 4, 6] = map(read * 2)\nz = conv(further, f) by {padding: 1x1, groups: 8}" : rest);
}

dsl::KernelProgram CheckedStream(const dsl::Program& program) {
  auto checked = dsl::Check(program, nullptr, TypicalDevice());
  const auto* said = std::get_if<dsl::Complaint>(&checked);
  EXPECT_EQ(said, nullptr) << ToString(*said) << "\n" << dsl::Print(program);
  return said ? dsl::KernelProgram{} : std::get<dsl::KernelProgram>(std::move(checked));
}
dsl::Program ParsedStream(const std::string& text) {
  auto parsed = dsl::Parse(text);
  EXPECT_TRUE(std::holds_alternative<dsl::Program>(parsed)) << ToString(std::get<dsl::Complaint>(parsed));
  return std::get<dsl::Program>(std::move(parsed));
}

// The outputs, one behind the other.
std::vector<double> WhatItMakes(const dsl::Program& program) {
  const dsl::KernelProgram kernels = CheckedStream(program);
  std::mt19937 random(5);
  std::vector<std::vector<double>> values(kernels.buffers.size());
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].home > dsl::KernelBuffer::Home::kParameter) continue;
    values[b].resize(static_cast<std::size_t>(ElementCount(kernels.buffers[b].shape)));
    for (double& value : values[b]) value = static_cast<double>(random() % 1000) / 1000 - 0.5;
  }
  dsl::testing::Interpreter(kernels, values).Run();
  std::vector<double> made;
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].home == dsl::KernelBuffer::Home::kOutput)
      made.insert(made.end(), values[b].begin(), values[b].end());
  }
  return made;
}

std::string Turned(const std::string& text) {
  const dsl::Program program = ParsedStream(text);
  const auto turned = WithTurnedStreams(program, CheckedStream(program));
  if (!turned) return "none";
  const auto before = WhatItMakes(program), after = WhatItMakes(*turned);
  EXPECT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) EXPECT_NEAR(before[i], after[i], 1e-5) << i;
  return dsl::Print(*turned);
}

TEST(TurnedStreamsTest, SumsThatLieAsProductsDoAreTheirEnds) {
  const std::string text = Turned(Stream("[192, 1, 48, 8]"));
  EXPECT_NE(text.find("sum: f32 = matmul(rows, w) -> it * gamma_rows + image_rows"), std::string::npos) << text;
  EXPECT_NE(text.find("view sum_first = sum: [2, 8, 4, 6] strides [192, 1, 48, 8]"), std::string::npos) << text;
  EXPECT_NE(text.find("middle: f32 = conv(sum_first, f)"), std::string::npos) << text;
  EXPECT_NE(text.find("-> tanh(it) -> it * gamma_rows_ + sum_first_rows"), std::string::npos) << text;
  EXPECT_NE(text.find("view read = further: [2, 8, 24] strides [192, 1, 8]"), std::string::npos) << text;
}

TEST(TurnedStreamsTest, AStreamThatBeginsWithItsChannelsFirstIsTurnedOnce) {
  const std::string text = Turned(Stream("[192, 24, 6, 1]"));
  EXPECT_NE(text.find("sum: f32 = map(made_turned * gamma_turned + image_turned)"), std::string::npos) << text;
  EXPECT_NE(text.find("further: f32 = matmul(pixels, w)"), std::string::npos) << text;
}

TEST(TurnedStreamsTest, OthersStayAsTheyAre) {
  // Who reads it goes through channels and pixels at once.
  EXPECT_EQ(Turned(Stream("[192, 24, 6, 1]",
                          "view flat = further: [2, 192] strides [192, 1]\nview all = y: [2, 192] strides [192, 1]\n"
                          "y: [2, 8, 4, 6] = map(flat + 1)\nz = map(image)")),
            "none");
  // Another reads the product, too.
  EXPECT_EQ(Turned(Stream("[192, 24, 6, 1]", "y = map(again * 2)\nz = map(further)")), "none");
}

}  // namespace
}  // namespace hone::expert
