#include "oracle/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/element_check.h"
#include "problem/element.h"
#include "protocol/tensor_memory.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor Output(Shape shape, DType dtype = DType::kF32) {
  return {.name = "y", .shape = std::move(shape), .dtype = dtype, .role = Role::kOutput};
}

TEST(CompareTest, AnElementMayBeOffByItsBudgetAndNoMore) {
  const float got[] = {1.0f, 2.25f, 3.5f};
  const Expected expected{.value = {1, 2, 3}, .budget = {0, 0.25, 0.25}};
  const auto check = CompareOutput(Output({3}), got, expected, kPoison);
  EXPECT_EQ(check.wrong, 1);
  EXPECT_EQ(check.worst, 2);
  EXPECT_EQ(check.error_over_budget, 2);
  EXPECT_FALSE(check.official);
}

TEST(CompareTest, NanIsRightOnlyWhereNanIsExpected) {
  const float nan = std::nanf("");
  const float got[] = {nan, nan, 1};
  const Expected expected{.value = {std::nan(""), 1, std::nan("")}, .budget = {1, 1, 1}};
  const auto check = CompareOutput(Output({3}), got, expected, kPoison);
  EXPECT_EQ(check.wrong, 2);
  EXPECT_EQ(check.nonfinite, 1);
}

TEST(CompareTest, TheSameInfinityIsRightAndAnInfiniteBudgetAllowsAll) {
  const auto infinity = std::numeric_limits<float>::infinity();
  const float got[] = {infinity, -infinity, 7};
  const Expected expected{.value = {kInfinity, kInfinity, 1}, .budget = {1, 1, kInfinity}};
  const auto check = CompareOutput(Output({3}), got, expected, kPoison);
  EXPECT_EQ(check.wrong, 1);
  EXPECT_EQ(check.worst, 1);
}

TEST(CompareTest, AnInfinityIsRightWhereTheBudgetReachesBeyondTheLargestNumber) {
  struct Example {
    DType dtype;
    double want, budget;
    std::uint32_t got;  // bits
    bool right;
  };
  constexpr Example kExamples[] = {
      {DType::kF16, -65520, 780, 0xfc00, true},   // -infinity
      {DType::kF16, -65520, 780, 0xfbff, true},   // -65504
      {DType::kF16, -65520, 780, 0x7c00, false},  // the other infinity
      {DType::kF16, -65520, 780, 0xfe00, false},  // NaN
      {DType::kF16, 65000, 780, 0x7c00, true},    //
      {DType::kF16, 65000, 515, 0x7c00, false},   // reaches 65515, which rounds to the largest number
      {DType::kBF16, 3.39e38, 1e36, 0x7f80, true},
      {DType::kBF16, 3.3e38, 1e36, 0x7f80, false},
      {DType::kF8E4M3, 448, 60, 0x7e, true},
      {DType::kF8E4M3, 448, 60, 0x7f, false},  // no infinity: only a NaN
      {DType::kF8E5M2, 61000, 500, 0x7c, true},
      {DType::kF8E5M2, 61000, 500, 0x7f, false},
      {DType::kF32, -3.4e38, 1e36, 0xff800000, true},
      {DType::kF32, -3.4e38, 1e35, 0xff800000, false},
  };
  for (const auto& [dtype, want, budget, got, right] : kExamples) {
    const auto check = CompareOutput(Output({1}, dtype), &got, {.value = {want}, .budget = {budget}}, kPoison);
    EXPECT_EQ(check.right(), right) << Name(dtype) << ": " << want << " +- " << budget;
    EXPECT_EQ(check.nonfinite, right || std::isfinite(ElementAsDouble(dtype, &got, 0)) ? 0 : 1);
  }
}

TEST(CompareTest, WhatIsNotWrittenIsWrongWhateverTheBudget) {
  const std::uint16_t words[6] = {kPoison, kPoison, kPoison, kPoison, 0, 0};
  const Expected expected{.value = {1, std::nan(""), 5}, .budget = {kInfinity, 1, kInfinity}};
  const auto check = CompareOutput(Output({3}), words, expected, kPoison);
  EXPECT_EQ(check.wrong, 2);
  EXPECT_EQ(check.unwritten, 2);
}

TEST(CompareTest, PoisonThatIsLeftIsCalledUnwritten) {
  std::uint16_t words[6] = {kPoison, kPoison, 0, 0, kPoison, kPoison};
  const Expected expected{.value = {1, 0, 1}, .budget = {0.1, 0.1, 0.1}};
  const auto check = CompareOutput(Output({3}), words, expected, kPoison);
  EXPECT_EQ(check.unwritten, 2);
  const auto verdict = WrongVerdict(Output({3}), check, "seed 1");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongResult);
  EXPECT_NE(verdict.reason.find("never written"), std::string::npos) << verdict.reason;
}

TEST(CompareTest, TheReasonNamesTheElementAndTheDraw) {
  const float got[] = {0, 0, 0, 4.5f};
  const Expected expected{.value = {0, 0, 0, 4}, .budget = {0, 0, 0, 0.125}};
  const auto verdict = WrongVerdict(Output({2, 2}), CompareOutput(Output({2, 2}), got, expected, kPoison), "outliers");
  EXPECT_EQ(verdict.reason, "y[1, 1] is 4.5, expected 4 within 0.125; 1 of 4 elements are wrong (inputs: outliers)");
  EXPECT_EQ(verdict.evidence->index, (std::vector<std::int64_t>{1, 1}));
}

TEST(CompareTest, SmallTypesCompareAsTheirValues) {
  const std::uint16_t half[] = {0x3c00, 0xc000};
  EXPECT_TRUE(CompareOutput(Output({2}, DType::kF16), half, {.value = {1, -2}, .budget = {0, 0}}, kPoison).right());
  const std::uint16_t bfloat[] = {0x3f80, 0xc000};
  EXPECT_TRUE(CompareOutput(Output({2}, DType::kBF16), bfloat, {.value = {1, -2}, .budget = {0, 0}}, kPoison).right());
  const std::uint8_t flags[] = {1, 0, 2};
  EXPECT_EQ(CompareOutput(Output({3}, DType::kBool), flags, {.value = {1, 0, 1}, .budget = {0, 0, 0}}, kPoison).wrong,
            1);
  const std::int64_t whole[] = {-5};
  EXPECT_TRUE(CompareOutput(Output({1}, DType::kI64), whole, {.value = {-5}, .budget = {0}}, kPoison).right());
}

TEST(CompareTest, LargeTensorsAreComparedWhole) {
  std::vector<float> got(2'000'000, 1);
  Expected expected{.value = std::vector<double>(got.size(), 1), .budget = std::vector<double>(got.size(), 1e-6)};
  got[1'999'999] = 2;
  got[3] = 1.5f;
  const auto check = CompareOutput(Output({2'000'000}), got.data(), expected, kPoison);
  EXPECT_EQ(check.wrong, 2);
  EXPECT_EQ(check.worst, 1'999'999);
}

TEST(CompareTest, AWholeNumberThatRoundingDecidesIsNearOrAsGood) {
  const std::int64_t got[] = {5, 7, 0, 9};
  const Expected expected{.value = {5, 5, 5, 1}, .budget = {kInfinity, kInfinity, kInfinity, 0}};
  const auto wrong = [&](double room, const Expected* distance) {
    return CompareOpen(Output({4}, DType::kI64), got, expected, room, distance).wrong;
  };
  EXPECT_EQ(wrong(0, nullptr), 2);
  EXPECT_EQ(wrong(2, nullptr), 1);
  const Expected distance{.value = {9, 1e-6, -3, 9}, .budget = {0, 1e-5, 1e-5, 0}};
  EXPECT_EQ(wrong(0, &distance), 1);
  EXPECT_EQ(CompareOpen(Output({4}, DType::kI64), got, expected, 0, &distance).worst, 2);
}

TEST(CompareTest, OfEqualsAnyIsRightWhereThereIsNoRoomButByDistance) {
  const std::int64_t got[] = {5, 7, 0};
  const Expected expected{.value = {5, 5, 5}, .budget = {0, 0, kInfinity}};
  const auto wrong = [&](const Expected& distance, double sure_room) {
    return CompareOpen(Output({3}, DType::kI64), got, expected, kAnyRoom, &distance, sure_room).wrong;
  };
  const Expected near{.value = {0, 1e-6, 0}, .budget = {0, 1e-5, 0}}, equal{.value = {0, 0, 0}, .budget = {0, 0, 0}},
      other{.value = {1, 0, 1}, .budget = {0, 0, 0}};
  EXPECT_EQ(wrong(near, kAnyRoom), 0) << "the sure ones are not looked at";
  EXPECT_EQ(wrong(near, 0), 1) << "near is not equal";
  EXPECT_EQ(wrong(equal, 0), 0);
  EXPECT_EQ(wrong(other, 0), 0) << "what is expected is right";
  EXPECT_EQ(wrong(other, -1), 1) << "unless the distance decides alone";
}

TEST(CompareTest, ByTheNormAnElementMayBeOffByTheLargestBudgetButNotAllOfThem) {
  const auto check = [](float large, float small, float zero) {
    std::vector<float> got(100, 1 + small);
    got[7] = 1000 + large;
    got[8] = zero;
    Expected expected{.value = std::vector<double>(100, 1), .budget = std::vector<double>(100, 1e-3)};
    expected.value[7] = 1000;
    expected.budget[7] = 1;
    expected.value[8] = expected.budget[8] = 0;
    return CompareNorm(Output({100}), got.data(), expected, kPoison);
  };
  EXPECT_TRUE(check(0.5f, 0.05f, 0).right());
  EXPECT_FALSE(check(0.5f, 0.5f, 0).right()) << "as far off as the largest may be, all of them";
  EXPECT_FALSE(check(2, 0, 0).right()) << "the largest beyond its own budget";
  EXPECT_FALSE(check(0, 0, 1e-6f).right()) << "what has no room has to be right by itself";
  EXPECT_FALSE(check(0, std::nanf(""), 0).right());
}

// 64 elements of +1 and -1, of which honest implementations get about as much right as wrong.
struct Noisy {
  Noisy() {
    expected.value.resize(64);
    expected.budget.assign(64, 3);
    UndecidedPart run;
    for (std::size_t i = 0; i < 64; ++i) {
      expected.value[i] = i % 2 ? 1 : -1;
      run.Add(expected.value[i], 1, i % 4 < 2 ? expected.value[i] : -expected.value[i]);
    }
    HonestRuns runs;
    runs.Add(run);
    expected.whole = WholeOf(runs);
  }
  OutputCheck Check(const std::vector<float>& got) const {
    return CompareOutput(Output({64}), got.data(), expected, kPoison);
  }
  Expected expected;
};

TEST(CompareTest, ZerosWithinEveryBudgetAreNotTheOutputAsAWhole) {
  const Noisy noisy;
  ASSERT_TRUE(noisy.expected.whole.has_value());
  EXPECT_TRUE(noisy.expected.whole->spread_holds);
  const auto check = noisy.Check(std::vector<float>(64));
  EXPECT_EQ(check.wrong, 0);
  EXPECT_FALSE(check.right());
  const auto verdict = WrongVerdict(Output({64}), check, "seed 1");
  EXPECT_EQ(verdict.outcome, Outcome::kWrongResult);
  EXPECT_NE(verdict.reason.find("0 +- 0, expected are 0 +- 1"), std::string::npos) << verdict.reason;
}

TEST(CompareTest, OtherSignsOfTheSameSpreadAreRightWhereNobodyKnowsThem) {
  std::vector<float> got(64);
  for (std::size_t i = 0; i < 64; ++i) got[i] = i < 32 ? 1.1f : -1.1f;
  EXPECT_TRUE(Noisy().Check(got).right());
}

TEST(CompareTest, AnErrorThatIsSmallForEachAndLargeForAllIsNotTheOutputAsAWhole) {
  Noisy noisy;
  noisy.expected.whole->error = 0.01;
  std::vector<float> got(64);
  for (std::size_t i = 0; i < 64; ++i) got[i] = i < 32 ? 1.f : -1.f;
  const auto check = noisy.Check(got);
  ASSERT_TRUE(check.unlike.has_value());
  EXPECT_NE(check.unlike->find("root mean square"), std::string::npos) << *check.unlike;
}

TEST(CompareTest, AnOutputWithoutSpreadIsNotHeldToOne) {
  UndecidedPart run;
  for (int i = 0; i < 64; ++i) run.Add(5, 1, 5 + i % 2);
  HonestRuns runs;
  runs.Add(run);
  const auto whole = WholeOf(runs);
  ASSERT_TRUE(whole.has_value());
  EXPECT_FALSE(whole->spread_holds);
}

}  // namespace
}  // namespace hone
