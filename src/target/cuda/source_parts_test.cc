#include "target/cuda/source_parts.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace hone::cuda {
namespace {

constexpr int kKernels = 40;

std::string NameOf(int k) { return "kernel_" + std::to_string(k); }

// Forty kernels of 4 KB, launched from the last to the first.
Plan LongPlan() {
  PlanSource source{
      .name = "long.cu", .text = "// all\n__device__ int Twice(int x) { return 2 * x; }\n\n", .apart = true};
  Plan plan;
  for (int k = 0; k < kKernels; ++k) {
    source.text += "// statement " + std::to_string(k) + "\n";
    source.text += std::string(kKernelBegin) + " void __launch_bounds__(32) " + NameOf(k) + "(int* x) {\n";
    for (int line = 0; line < 100; ++line) source.text += "  x[threadIdx.x] += Twice(" + std::to_string(line) + ");\n";
    source.text += "}\n\n";
    plan.steps.insert(plan.steps.begin(), LaunchStep{.kernel = NameOf(k)});
  }
  plan.sources.push_back(std::move(source));
  return plan;
}

// The 1-based line that has `words`; 0 = none.
int LineOf(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  std::string line;
  for (int n = 1; std::getline(lines, line); ++n) {
    if (line.find(words) != std::string::npos) return n;
  }
  return 0;
}

TEST(SourcePartsTest, EveryKernelIsInOnePartAtItsLine) {
  const Plan plan = LongPlan(), made = InParts(plan);
  ASSERT_GE(made.sources.size(), 3u);
  EXPECT_EQ(made.sources[0].name, "long.cu");
  EXPECT_EQ(made.sources[1].name, "long.cu.2");
  for (const PlanSource& part : made.sources) {
    EXPECT_EQ(LineOf(part.text, "int Twice"), 2) << part.name;
    EXPECT_NE(part.text.find(kKernelBegin), std::string::npos) << part.name;
  }
  for (int k = 0; k < kKernels; ++k) {
    for (const std::string& words : {" " + NameOf(k) + "(", "// statement " + std::to_string(k) + "\n"}) {
      std::vector<std::string> holders;
      for (const PlanSource& part : made.sources) {
        if (part.text.find(words) != std::string::npos) holders.push_back(part.text);
      }
      ASSERT_EQ(holders.size(), 1u) << words;
      if (words[0] == ' ') EXPECT_EQ(LineOf(holders[0], words), LineOf(plan.sources[0].text, words)) << words;
    }
  }
}

TEST(SourcePartsTest, LaunchesFindTheirKernel) {
  const Plan made = InParts(LongPlan());
  ASSERT_EQ(made.steps.size(), static_cast<std::size_t>(kKernels));
  for (const PlanStep& step : made.steps) {
    const auto& launch = std::get<LaunchStep>(step);
    EXPECT_NE(made.sources.at(launch.source).text.find(" " + launch.kernel + "("), std::string::npos) << launch.kernel;
  }
}

TEST(SourcePartsTest, WhatIsNotApartOrShortStaysWhole) {
  Plan plan = LongPlan();
  plan.sources[0].apart = false;
  EXPECT_EQ(InParts(plan).sources.size(), 1u);
  plan.sources[0].apart = true;
  plan.sources[0].text.resize(plan.sources[0].text.find("kernel_3("));
  plan.sources[0].text.resize(plan.sources[0].text.rfind(kKernelBegin));
  const Plan made = InParts(plan);
  ASSERT_EQ(made.sources.size(), 1u);
  EXPECT_EQ(made.sources[0].text, plan.sources[0].text);
}

TEST(SourcePartsTest, ANameThatIsTakenIsNotGivenAgain) {
  Plan plan = LongPlan();
  plan.sources.push_back({.name = "long.cu.2", .text = "", .flags = {}});
  std::get<LaunchStep>(plan.steps[0]).source = 1;
  const Plan made = InParts(plan);
  ASSERT_EQ(made.sources.size(), 2u);
  EXPECT_EQ(std::get<LaunchStep>(made.steps[0]).source, 1u);
}

}  // namespace
}  // namespace hone::cuda
