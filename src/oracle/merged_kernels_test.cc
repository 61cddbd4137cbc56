#include "oracle/merged_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "graph/testing/small_problem.h"
#include "oracle/kernel_number.h"

namespace hone {
namespace {

using testing::SmallGraph;

TEST(KernelNumberTest, ItDividesAsAnIntDoes) {
  std::mt19937_64 random(3);
  std::vector<std::int32_t> divisors = {1,
                                        2,
                                        3,
                                        7,
                                        49,
                                        112,
                                        12544,
                                        65535,
                                        65536,
                                        65537,
                                        (1 << 30) - 1,
                                        1 << 30,
                                        (1 << 30) + 1,
                                        std::numeric_limits<std::int32_t>::max()};
  for (int i = 0; i < 300; ++i) divisors.push_back(static_cast<std::int32_t>(random() % (1u << (i % 31 + 1))) + 1);
  for (const std::int32_t by : divisors) {
    if (by <= 0) continue;
    const KernelNumber number = KernelNumberOf(by);
    const auto wide = static_cast<std::uint32_t>(by);
    std::vector<std::uint32_t> values = {0,          1,          wide - 1,  wide, wide + 1, 2 * wide - 1,
                                         0x7fffffff, 0x80000000, 0xffffffff};
    for (int i = 0; i < 300; ++i) values.push_back(static_cast<std::uint32_t>(random()));
    for (const std::uint32_t a : values) {
      ASSERT_EQ(a / number, a / wide) << a << " / " << by;
      ASSERT_EQ(a % number, a % wide) << a << " % " << by;
      for (const std::int64_t more : {std::int64_t{a}, std::int64_t{a} * 5, -std::int64_t{a}}) {
        ASSERT_EQ(more / number, more / by) << more << " / " << by;
        ASSERT_EQ(more % number, more % by) << more << " % " << by;
      }
    }
  }
  EXPECT_EQ(KernelNumberOf(0).value, 0);
}

CudaNests::Kernel Kernel(std::string body, bool multiplies = false) {
  return {.name = "Nest",
          .comment = "",
          .parameters = "R* p0, std::int64_t step",
          .body = std::move(body),
          .units = {},
          .multiplies = multiplies};
}

// What becomes of kernels that are launched one after the other.
CudaNests Merged(std::vector<CudaNests::Kernel> kernels) {
  CudaNests nests;
  nests.kernels = std::move(kernels);
  nests.runs.emplace_back();
  for (int k = 0; k < static_cast<int>(nests.kernels.size()); ++k) {
    CudaNests::Launch launch;
    launch.kernel = k;
    nests.runs[0].launches.push_back(launch);
  }
  MergeKernels(nests);
  return nests;
}

TEST(MergedKernelsTest, WhatDiffersIsAParameterAndWhatDoesNotStays) {
  const auto nests = Merged({Kernel("for (i1 < 30) p0[at / 30 % 4 * 7] = Part(at, 64u);"),
                             Kernel("for (i1 < 90) p0[at / 90 % 5 * 7] = Part(at, 65u);")});
  ASSERT_EQ(nests.kernels.size(), 1u);
  // 30 is one number, whatever is done with it.
  EXPECT_EQ(nests.kernels[0].body,
            "for (i1 < numbers.of[0].value) p0[at / numbers.of[0] % numbers.of[1] * 7] = Part(at, "
            "static_cast<unsigned>(numbers.of[2].value));");
  EXPECT_EQ(nests.kernels[0].numbers, 3);
  EXPECT_NE(nests.kernels[0].Text().find("std::int64_t step, const hone::KernelNumbers<3> numbers)"),
            std::string::npos);
  const auto& launches = nests.runs[0].launches;
  EXPECT_EQ(launches[0].kernel, 0);
  EXPECT_EQ(launches[1].kernel, 0);
  EXPECT_EQ(launches[0].numbers, (std::vector<std::int32_t>{30, 4, 64}));
  EXPECT_EQ(launches[1].numbers, (std::vector<std::int32_t>{90, 5, 65}));
}

TEST(MergedKernelsTest, EqualNumbersPartWhereOneKernelHasDifferentOnes) {
  const auto nests = Merged({Kernel("a < 5, b < 5, c < 5"), Kernel("a < 6, b < 6, c < 7")});
  ASSERT_EQ(nests.kernels.size(), 1u);
  EXPECT_EQ(nests.kernels[0].body, "a < numbers.of[0].value, b < numbers.of[0].value, c < numbers.of[1].value");
}

TEST(MergedKernelsTest, WhatHangsOnAConstantIsNoOneKernel) {
  const auto kernels = [](std::string one, std::string other) {
    return Merged({Kernel(std::move(one)), Kernel(std::move(other))}).kernels.size();
  };
  EXPECT_EQ(kernels("Sum<3> s;", "Sum<4> s;"), 2u);
  EXPECT_EQ(kernels("static_assert(sizeof x <= 64);", "static_assert(sizeof x <= 32);"), 2u);
  EXPECT_EQ(kernels("constexpr int n = 3;", "constexpr int n = 4;"), 2u);
  EXPECT_EQ(kernels("#pragma unroll 2\n", "#pragma unroll 3\n"), 2u);
  EXPECT_EQ(kernels("x = 1.5;", "x = 2.5;"), 2u);
  EXPECT_EQ(kernels("x = 1e-05;", "x = 1e-06;"), 2u);
  EXPECT_EQ(kernels("x = 3;", "x = 3u;"), 2u);
  EXPECT_EQ(kernels("x < 5000000000;", "x < 5;"), 2u);               // another type
  EXPECT_EQ(kernels("p0[i2] = 1;", "p0[i3] = 1;"), 2u);              // names
  EXPECT_EQ(kernels("SumTile<R>(x, 3);", "SumTile<R>(x, 4);"), 2u);  // takes much longer so
  EXPECT_EQ(kernels("x < 3; Sum<3> s;", "x < 4; Sum<3> s;"), 1u);
  EXPECT_EQ(kernels("constexpr int n = 3; x = 3;", "constexpr int n = 3; x = 4;"), 1u);
}

TEST(MergedKernelsTest, ProductsOfDifferentRoundoffStayApartAndLieBehindOneAnother) {
  auto rough = Kernel("Product(x, 3);", true);
  rough.units = {0x1p-11};
  auto fine = Kernel("Product(x, 4);", true);
  fine.units = {0x1p-24};
  const auto nests = Merged({rough, fine, Kernel("x = 3;"), rough, Kernel("x = 4;"), fine});
  std::vector<double> units;
  for (const auto& kernel : nests.kernels) units.push_back(kernel.units.operand);
  EXPECT_EQ(units, (std::vector<double>{0x1p-11, 0x1p-11, 0x1p-24}));
  std::vector<int> launched;
  for (const auto& launch : nests.runs[0].launches) launched.push_back(launch.kernel);
  EXPECT_EQ(launched, (std::vector<int>{0, 2, 1, 0, 1, 2}));
}

// However many layers a network has, and whatever their widths.
TEST(MergedKernelsTest, LayersOfOneFormHaveTheKernelsOfOne) {
  const auto kernels = [](int layers) {
    std::string inputs = "x f32 40x30", nodes;
    for (int i = 0; i < layers; ++i) {
      inputs += fmt::format(", w{} f32 {}x{}", i, 30 + i, 31 + i);
      nodes += fmt::format(R"({}{{"op": "mm", "args": {{"self": "%{}", "mat2": "%w{}"}}, "outputs": ["m{}"]}},
                              {{"op": "gelu", "args": {{"self": "%m{}"}}, "outputs": ["{}"]}})",
                           i == 0 ? "[" : ", ", i == 0 ? "x" : fmt::format("g{}", i - 1), i, i, i,
                           i == layers - 1 ? std::string("y") : fmt::format("g{}", i));
    }
    return WriteCudaNests(SmallGraph("fp32", inputs, fmt::format("y f32 40x{}", 30 + layers), nodes + "]"));
  };
  const auto three = kernels(3), nine = kernels(9);
  EXPECT_LE(three.kernels.size(), 6u);
  EXPECT_EQ(nine.kernels.size(), three.kernels.size());
  EXPECT_EQ(nine.runs.size(), three.runs.size() + 12);
}

}  // namespace
}  // namespace hone
