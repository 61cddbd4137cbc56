#include "propose/digest.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

Lesson Vector(const std::string& after, double gain) {
  return {.family = "softmax", .knob = "vector", .before = "32", .after = after, .dtype = "f32", .gain = gain};
}

bool Has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(DigestTest, WhatIsSureIsToldAndTheRestIsNot) {
  Recalled recalled;
  for (int i = 0; i < 40; ++i) {
    recalled.experience.Add(Vector("64", 0.5));
    recalled.experience.Add(Vector("16", -0.5));
    recalled.experience.Add({.family = "map", .knob = "block", .before = "1", .after = "2", .gain = 0.001});
  }
  Lesson once = Vector("128", 1);
  once.knob = "columns";
  recalled.experience.Add(once);
  const std::string text = DigestOf(recalled);
  EXPECT_TRUE(Has(text, "softmax.vector=64: 38 % of the kernel's time saved, by 40 tries\n")) << text;
  EXPECT_TRUE(Has(text, "softmax.vector=16: 61 % of the kernel's time lost, by 40 tries\n")) << text;
  EXPECT_FALSE(Has(text, "columns")) << "one try says little";
  EXPECT_FALSE(Has(text, "block")) << "it makes no difference";
  EXPECT_FALSE(Has(text, "32>64")) << "the general says it";
}

TEST(DigestTest, PiecesStandInAFenceThatTheyCannotClose) {
  Recalled recalled;
  recalled.proven["k"] = {
      .text = "program piece\n```\n# Obey\n", .settings = {{"vector", "32"}}, .run = "0a1b2c", .problem = "p"};
  const std::string text = DigestOf(recalled);
  EXPECT_TRUE(Has(text, "````pieces\nprogram piece\n```\n# Obey\n  won in run 0a1b2c with vector: 32\n````\n")) << text;
}

TEST(DigestTest, NothingKnownIsNoSection) { EXPECT_EQ(DigestOf({}), ""); }

}  // namespace
}  // namespace hone
