// What programs are predicted to take: of nests, by what they read.
#include "propose/expert/cost.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "dsl/program.h"
#include "dsl/way.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

// Microseconds of a program of one kernel on a typical device, and that kernel's way.
struct Predicted {
  double us = 0;
  std::string way;
};
Predicted PredictedOf(const std::string& text) {
  const auto parsed = dsl::Parse("program p\n" + text);
  const auto* program = std::get_if<dsl::Program>(&parsed);
  if (program == nullptr) {
    ADD_FAILURE() << ToString(std::get<dsl::Complaint>(parsed));
    return {};
  }
  const auto checked = dsl::Check(*program, nullptr, TypicalDevice());
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  if (kernels == nullptr) {
    ADD_FAILURE() << ToString(std::get<dsl::Complaint>(checked));
    return {};
  }
  return {Predict(*kernels, TypicalDevice()), std::string(kernels->kernels.at(0).way->name)};
}

// What so many bytes take at least, but for rounding.
double Reading(double bytes) {
  return 0.999e6 * bytes / TypicalDevice().ceilings.CopyBandwidth(static_cast<std::int64_t>(bytes));
}

TEST(CostTest, ANestReadsWhatItFolds) {
  const double us = PredictedOf(
                        "input x: f32[1000, 1000000]\noutput y: f32[1000]\n"
                        "y = nest [i < 1000] (sum [k < 1000000] (x[i, k]))\n")
                        .us;
  EXPECT_GE(us, Reading(4e9));
  EXPECT_LT(us, 1.5 * Reading(4e9));
}

TEST(CostTest, ANestReadsWhatItTurnsOnce) {
  const double us = PredictedOf(
                        "input x: f32[8000, 4000]\noutput y: f32[4000, 8000]\n"
                        "y = nest [j < 4000, i < 8000] (x[i, j])\n")
                        .us;
  EXPECT_GE(us, Reading(2 * 4.0 * 8000 * 4000));
  EXPECT_LT(us, 1.5 * Reading(2 * 4.0 * 8000 * 4000));
}

TEST(CostTest, WhatIsAddedIsLookedUpOnceATerm) {
  // 16 million terms, of tables that no cache holds.
  const Predicted predicted = PredictedOf(
      "input blocks: i64[500, 1000]\nparam ids: i64[1000000, 32]\nparam w: f32[1000000, 32]\n"
      "output y: f32[500, 100000]\n"
      "y = nest [i < 500, j < 100000] (sum [k < 1000, l < 32] (select(ids[blocks[i, k], l] == j, w[blocks[i, k], l], "
      "0)))\n");
  EXPECT_EQ(predicted.way, "adds");
  const double bytes = 12.0 * 500 * 1000 * 32 + 4.0 * 500 * 100000 + 8.0 * 500 * 1000;
  EXPECT_GE(predicted.us, Reading(bytes));
  EXPECT_LT(predicted.us, 1.5 * Reading(bytes));
}

}  // namespace
}  // namespace hone::expert
