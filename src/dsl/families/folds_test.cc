#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

TEST(FoldsTest, RowsColumnsAndTheWholeAreReduced) {
  std::mt19937 random(2);
  testing::ExpectRight(testing::MustCheck(R"(program folds
input x: f32[5, 37, 300]
input w: f32[700, 130]
output rows: f32[5, 37]
output columns: f32[5, 300]
output mixed: f32[37]
output whole: f32[]
output largest: f32[5, 37]
output lowest: f32[300]
output tall: f32[130]
rows = reduce sum(x * x) over [2] -> it * 2
columns = reduce mean(x) over [1] with {columns: 64}
mixed = reduce sum(x) over [0, 2]
whole = reduce sum(x) over [0, 1, 2] with {split: 5}
largest = reduce max(x) over [2]
lowest = reduce min(x) over [0, 1] with {split: 3, columns: 128}
tall = reduce sum(w) over [0] with {split: 2, columns: 48, accumulators: 2}
)"),
                       2, random);
}

TEST(FoldsTest, AReductionsChainSeesOtherFolds) {
  std::mt19937 random(12);
  testing::ExpectRight(testing::MustCheck(R"(program folds
input x: f32[7, 1003]
input y: f32[7, 1003]
output rows: f32[7]
output columns: f32[1003]
output apart: f32[7]
output split: f32[7]
rows = reduce max(x) over [1]
  let m = max_over(x)
  let s = sum(exp(x - m))
  -> it + log(s)
columns = reduce sum(square(x - y)) over [0]
  let other = sum(abs(x))
  -> it - other
apart = reduce mean(x * y) over [1]
  let other = sqrt(sum(square(x)))
  -> it / other
split = reduce sum(x) over [1] with {split: 3}
  let m = max_over(y)
  -> it + m
)"),
                       2, random);
}

TEST(FoldsTest, SoftmaxInAllItsForms) {
  std::mt19937 random(3);
  testing::ExpectRight(testing::MustCheck(R"(program softmaxes
input x: f32[5, 37, 301]
input long: f32[3, 10001]
input square: f32[2, 3, 8192]
output rows: f32[5, 37, 301]
output columns: f32[5, 37, 301]
output logs: f32[5, 37, 301]
output onlines: f32[3, 10001]
output splits: f32[3, 10001]
output both: f32[3, 10001]
output kept: f32[3, 10001]
output even: f32[2, 3, 8192]
output parts: f32[3, 10001]
rows = softmax(x * 2) over [2]
columns = softmax(x) over [1] with {columns: 64} -> it * 3
logs = softmax log(x) over [2]
onlines = softmax(long) over [1] with {passes: online}
splits = softmax log(long) over [1] with {split: 4}
both = softmax(long * 3) over [1] with {passes: online, split: 3}
kept = softmax(long * 9) over [1] with {passes: blocks} -> it + long
even = softmax(square) over [2] with {passes: blocks, prefetch: ahead, accumulators: 1}
parts = softmax(long * 9) over [1] with {passes: blocks, split: 4, prefetch: ahead}
)"),
                       2, random);
}

TEST(FoldsTest, FetchingAheadChangesNoValue) {
  for (const char* const settings :
       {"{prefetch: row}", "{prefetch: ahead}", "{prefetch: row, accumulators: 1, threads: 1}",
        "{prefetch: ahead, split: 3, accumulators: 2}", "{prefetch: row, split: 2}"}) {
    std::mt19937 random(6);
    const KernelProgram program = testing::MustCheck(fmt::format(R"(program fetches
input x: f32[5, 37, 301]
input long: f32[3, 10001]
input d: f64[7, 130]
param g: f32[37, 1]
output soft: f32[5, 37, 301]
output logs: f32[3, 10001]
output group: f32[5, 37, 301]
output wide: f64[7, 130]
soft = softmax(x * 2) over [2] with {0} -> it * g
logs = softmax log(long) over [1] with {0}
group = norm(x) over [1, 2] with {0}
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 1e-5) * g
wide = norm(d) over [1] with {0}
  let s = sum(abs(it))
  -> it / s
)",
                                                                 settings));
    EXPECT_NE(EmitCpu(program).find("__builtin_prefetch(&t_soft["), std::string::npos) << settings;
    testing::ExpectRight(program, 2, random);
  }
}

TEST(FoldsTest, ANanInASoftmaxIsInItsWholeRow) {
  for (const char* const settings : {"{passes: three}", "{passes: online}", "{passes: three, split: 2}",
                                     "{passes: blocks}", "{passes: blocks, split: 3}"}) {
    for (const char* const variant : {"", " log"}) {
      if (*variant && std::string_view(settings).find("blocks") != std::string_view::npos) continue;
      const KernelProgram program = testing::MustCheck(
          fmt::format("program nans\ninput x: f32[4, 100]\noutput y: f32[4, 100]\ny = softmax{}(x) over [1] with {}\n",
                      variant, settings));
      testing::Module module(program);
      ASSERT_TRUE(module.ok()) << module.log();
      constexpr double kInf = std::numeric_limits<double>::infinity();
      std::vector<double> x(400, 0.5);
      x[30] = std::nan("");  // row 0
      x[150] = kInf;         // row 1
      std::fill(x.begin() + 200, x.begin() + 300, -kInf);
      x[305] = -kInf;  // row 3: one weight is zero
      const auto y = module.Run({x, {}}, 2)[1];
      for (std::size_t i = 0; i < 300; ++i) {
        // The logarithm of a weight beside an infinite one is minus infinity, as PyTorch has it, or no number.
        EXPECT_TRUE(std::isnan(y[i]) || (i >= 100 && i < 200 && y[i] == -kInf)) << variant << settings << " at " << i;
      }
      EXPECT_EQ(y[305], *variant ? -kInf : 0);
      EXPECT_NEAR(y[306], *variant ? -std::log(99.0) : 1 / 99.0, 1e-5);
    }
  }
}

TEST(FoldsTest, BlocksOfMinusInfinityWeighNothing) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const char* const settings : {"{passes: blocks}", "{passes: online}", "{passes: blocks, split: 3}"}) {
    const KernelProgram program = testing::MustCheck(fmt::format(
        "program masks\ninput x: f32[3, 9000]\noutput y: f32[3, 9000]\ny = softmax(x) over [1] with {}\n", settings));
    testing::Module module(program);
    ASSERT_TRUE(module.ok()) << module.log();
    std::vector<double> x(27000, -200.0);
    std::fill(x.begin(), x.begin() + 5000, -kInf);                 // the first blocks of row 0
    std::fill(x.begin() + 9000 + 4100, x.begin() + 18000, -kInf);  // the last ones of row 1
    x[18000 + 8999] = std::nan("");
    const auto y = module.Run({x, {}}, 2)[1];
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[4999], 0);
    EXPECT_NEAR(y[5000] * 4000, 1, 1e-5);
    EXPECT_NEAR(y[9000] * 4100, 1, 1e-5);
    EXPECT_EQ(y[17999], 0);
    EXPECT_TRUE(std::isnan(y[18000])) << settings;
  }
}

TEST(FoldsTest, NormsInAllTheirForms) {
  std::mt19937 random(4);
  testing::ExpectRight(testing::MustCheck(R"(program norms
input x: f32[6, 12, 50]
input r: f32[6, 12, 50]
param g: f32[50]
param b: f32[50]
param c: f32[12, 1]
output layer: f32[6, 12, 50]
output rms: f32[6, 12, 50]
output batch: f32[6, 12, 50]
output group: f32[6, 12, 50]
output l2: f32[6, 12, 50]
output middle: f32[6, 12, 50]
view xg = x: [6, 3, 200] strides [600, 200, 1]
layer = norm(x + r) over [2]
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 1e-5) * g + b
rms = norm(x) over [2]
  let s = sum(it * it) / 50
  -> it * rsqrt(s + 1e-6) * g
batch = norm(x) over [0, 2]
  let m = sum(it) / 300
  let v = sum(square(it - m)) / 300
  -> (it - m) / sqrt(v + 1e-5) * c
group: [6, 12, 50] = norm(xg) over [2]
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 1e-5)
l2 = norm(x) over [0, 1, 2] with {split: 3}
  let s = sum(it * it)
  let t = max_over(it)
  -> it / sqrt(s) * t
middle = norm(x) over [1] with {split: 2, columns: 16}
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 1e-5)
)"),
                       2, random);
}

// A mean and the squared distances from it are one pass where there are many elements.
TEST(FoldsTest, MomentsInOnePass) {
  std::mt19937 random(12);
  const std::string text = R"(program moments
input rows: f32[3, 9001]
input tall: f32[700, 130]
input image: f32[4, 3, 2100]
input wide: f64[2, 600, 40]
param w: f32[130]
output na: f32[3, 9001]
output nb: f32[700, 130]
output nc: f32[4, 3, 2100]
output nd: f64[2, 600, 40]
output ne: f32[700, 130]
output nf: f32[3, 9001]
output ng: f32[700, 130]
na = norm(rows) over [1]
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) / sqrt(v + 1e-5)
nb = norm(tall * w) over [0]
  let m = mean(it)
  let s = sqrt(mean(square(it - m)) + 1e-5)
  -> (it - m) / s * w
nc = norm(image) over [0, 2] with {prefetch: ahead}
  let m = sum(it) / 8400
  let v = sum((it - m) * (it - m)) / 8400
  -> (it - m) * rsqrt(v + 1e-5)
nd = norm(wide) over [1] with {columns: 16}
  let m = mean(it)
  let v = mean(square(it - m))
  -> it * m / v
ne = norm(tall) over [0] with {split: 3, columns: 100}
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) / sqrt(v + 1e-5) + m
nf = norm(rows) over [1] with {split: 2, prefetch: row}
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) / sqrt(v + 1e-5) + exp(m)
ng = norm(tall) over [0]
  let m = mean(it)
  let v = mean(square(it - m * 2))
  -> (it - m) / sqrt(v + 1e-5)
)";
  const KernelProgram program = testing::MustCheck(text);
  testing::ExpectRight(program, 2, random);
  const std::string lowered = EmitCpu(program);
  const auto function = [&](const std::string& name) {
    const std::size_t begin = lowered.find("void Norm_t_n" + name + "(");
    return lowered.substr(begin, lowered.find("\n}\n", begin) - begin);
  };
  for (const char* const name : {"a", "b", "c", "d", "e", "f"})
    EXPECT_NE(function(name).find("spread"), std::string::npos) << function(name);
  EXPECT_EQ(function("g").find("spread"), std::string::npos) << "not its mean:\n" << function("g");
}

TEST(FoldsTest, ANormWritesFurtherResults) {
  for (const char* const settings : {"{threads: 1}", "{split: 3}", "{prefetch: ahead, accumulators: 2}"}) {
    std::mt19937 random(9);
    const KernelProgram program = testing::MustCheck(fmt::format(R"(program results
input x: f32[7, 1003]
input r: f32[7, 1003]
input d: bf16[5, 64, 9]
input w: f32[7, 1]
output y: f32[7, 1003]
output both: f32[7, 1003]
output above: bool[7021]
output columns: bf16[5, 64, 9]
output later: f32[7, 1003]
output counted: i64[5, 64, 9]
output spread: f32[7]
output scale: bf16[5, 1, 9]
output large: bool[5, 9]
y = norm(x + r) over [1] with {0}
  let m = mean(it)
  let v = mean(square(it - m))
  -> (it - m) * rsqrt(v + 1e-5)
  also both = it
  also above: [7021] = it > m
  also kept: f16 = it * 2
  also spread: [7] = sqrt(v) + w
columns = norm(d) over [1] with {0}
  let s = sum(abs(it))
  -> it / s
  also whole: i64 = int(it / s * 100)
  also scale: [5, 1, 9] = s / 64
  also large: [5, 9] = s > 50
later = map(kept)
counted = map(whole)
)",
                                                                 settings));
    testing::ExpectRight(program, 2, random);
  }
}

TEST(FoldsTest, WhatARowHasOneOfIsMadeOfWhatIsTheSameAlongIt) {
  const auto complaint = [](const std::string& also) {
    const auto parsed = Parse(
        "program rows\ninput x: f32[7, 100]\ninput w: f32[100]\noutput y: f32[7, 100]\noutput s: f32[7]\n"
        "y = norm(x) over [1]\n  let m = mean(it)\n  -> it - m\n  also " +
        also + "\n");
    const auto checked = Check(std::get<Program>(parsed), nullptr, {});
    const auto* said = std::get_if<Complaint>(&checked);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("s: [7] = m * 2"), "taken");
  EXPECT_EQ(complaint("s: [7] = m + it"),
            "'s' is one a row, of [7]: it is made of lets and of what is the same along the axis");
  EXPECT_EQ(complaint("s: [7] = m * w"),
            "'s' is one a row, of [7]: it is made of lets and of what is the same along the axis");
  EXPECT_EQ(complaint("s: [6] = m"),
            "'s' cannot be stored as [6]: its shape is [7, 100], the counts of elements differ");
}

TEST(FoldsTest, MomentsFarFromZeroAreExact) {
  constexpr std::size_t kLong = 6000, kLines = 70;
  for (const bool down : {true, false}) {
    const std::string shape = down ? fmt::format("{}, {}", kLong, kLines) : fmt::format("{}, {}", kLines, kLong);
    const KernelProgram program = testing::MustCheck(fmt::format(R"(program far
input x: f32[{0}]
output y: f32[{0}]
y = norm(x) over [{1}]
  let m = mean(it)
  let v = mean(square(it - m))
  -> it * 0 + v
)",
                                                                 shape, down ? 0 : 1));
    testing::Module module(program);
    ASSERT_TRUE(module.ok()) << module.log();
    const auto place = [&](std::size_t line, std::size_t n) { return down ? n * kLines + line : line * kLong + n; };
    std::vector<double> x(kLong * kLines);
    for (std::size_t line = 0; line < kLines; ++line) {
      // Steps of 1/32 around 4096: floats have them, and nothing much smaller.
      for (std::size_t n = 0; n < kLong; ++n)
        x[place(line, n)] = 4096 + static_cast<double>((n * 37 + n / 100 + line) % 64) / 32;
    }
    const auto y = module.Run({x, {}}, 2)[1];
    for (std::size_t line = 0; line < kLines; ++line) {
      double mean = 0, variance = 0;
      for (std::size_t n = 0; n < kLong; ++n) mean += x[place(line, n)] / kLong;
      for (std::size_t n = 0; n < kLong; ++n) variance += std::pow(x[place(line, n)] - mean, 2) / kLong;
      EXPECT_NEAR(y[place(line, 0)], variance, 1e-5 * variance) << (down ? "down" : "along") << " " << line;
    }
  }
}

}  // namespace
}  // namespace hone::dsl
