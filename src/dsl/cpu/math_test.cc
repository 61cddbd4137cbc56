// Runs the functions of dsl/cpu/math.cc as they stand in modules, and holds them against libm in double precision: on
// every 1021st of all floats, NaNs and infinities among them, and on the ends of their ranges.
#include "dsl/cpu/math.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

using Libm = double (*)(double);

Libm Exact(std::string_view name) {
  if (name == "exp") return std::exp;
  if (name == "expm1") return std::expm1;
  if (name == "log1p") return std::log1p;
  if (name == "tanh") return std::tanh;
  if (name == "erf") return std::erf;
  return nullptr;
}

std::vector<double> ManyFloats() {
  std::vector<double> values = {0.0, -0.0, 1.0, -1.0, 88.72283, 88.72284, -87.33654, -87.33655, 9.02, 3.925, 1e-30};
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 1021)
    values.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  for (auto& value : values) value = static_cast<double>(static_cast<float>(value));
  return values;
}

// Error in units in the last place of a float near `want`; 0 where both are the same end, infinity where they are not.
double Ulps(double got, double want) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kInf;
  const auto rounded = static_cast<double>(static_cast<float>(want));
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : kInf;
  if (std::fabs(want) < 0x1p-126) return std::fabs(got) <= 0x1p-126 ? 0 : kInf;  // may be flushed to zero
  if (std::signbit(got) != std::signbit(want)) return kInf;
  int exponent = 0;
  std::frexp(want, &exponent);
  return std::fabs(got - want) / std::ldexp(1.0, exponent - 24);
}

TEST(MathTest, EveryFunctionHoldsItsErrorForAllFloats) {
  const std::vector<double> x = ManyFloats();
  for (const int vector : {32, 64}) {
    std::string text = "program functions\ninput x: f32[" + std::to_string(x.size()) + "]\n", maps;
    for (const auto& function : MathFunctions()) {
      if (function.libm.empty()) continue;
      const std::string name(function.libm);
      text += "output y_" + name + ": f32[" + std::to_string(x.size()) + "]\n";
      maps += "y_" + name + " = map(" + name + "(x)) with {vector: " + std::to_string(vector) + "}\n";
    }
    const KernelProgram program = testing::MustCheck(text + maps);
    testing::Module module(program);
    ASSERT_TRUE(module.ok()) << module.log();
    std::vector<std::vector<double>> values(program.buffers.size());
    values[0] = x;
    const auto got = module.Run(values, 2);
    std::size_t at = 1;
    for (const auto& function : MathFunctions()) {
      if (function.libm.empty()) continue;
      const Libm exact = Exact(function.libm);
      ASSERT_NE(exact, nullptr) << function.libm << " is not tested";
      double worst = 0, where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double ulps = Ulps(got[at][i], exact(x[i]));
        if (ulps > worst) worst = ulps, where = x[i];
      }
      EXPECT_LE(worst, function.ulp) << function.libm << "(" << where << "), vectors of " << vector << " bytes";
      ++at;
    }
  }
}

TEST(MathTest, ExpBelowAMaximumHoldsItsError) {
  // Rows whose largest element is zero, of every 127th float below it and of the ends.
  constexpr std::size_t kRow = 64;
  std::vector<double> x;
  std::uint32_t bits = 0x80000000u;
  for (const double end : {-0.0, -87.33654, -87.33655, -88.0, -1e30, -std::numeric_limits<double>::infinity()}) {
    for (std::size_t n = 0; n < kRow; ++n)
      x.push_back(n == 0 ? 0 : n == 1 ? static_cast<double>(static_cast<float>(end)) : -1.0 / static_cast<double>(n));
  }
  while (bits < 0xff800000u) {
    for (std::size_t n = 0; n < kRow; ++n, bits += 127)
      x.push_back(n == 0 ? 0 : static_cast<double>(std::bit_cast<float>(std::min(bits, 0xff800000u))));
  }
  const KernelProgram program = testing::MustCheck(
      fmt::format("program powers\ninput x: f32[{0}, {1}]\noutput y: f32[{0}, {1}]\ny = norm(x) over [1]\n  let top = "
                  "max_over(it)\n  -> exp(it - top)\n",
                  x.size() / kRow, kRow));
  EXPECT_NE(EmitCpu(program).find("ExpDown("), std::string::npos);
  testing::Module module(program);
  ASSERT_TRUE(module.ok()) << module.log();
  const auto got = module.Run({x, {}}, 2)[1];
  double worst = 0, where = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double ulps = Ulps(got[i], std::exp(x[i]));
    if (ulps > worst) worst = ulps, where = x[i];
  }
  EXPECT_LE(worst, FindMathFunction("exp")->ulp) << "exp(" << where << ")";
}

TEST(MathTest, TanhOfASoftplusIsOneFunction) {
  std::mt19937 random(5);
  const KernelProgram program = testing::MustCheck(R"(program mishes
input x: f32[3, 1001]
output a: f32[3, 1001]
output b: f32[3, 1001]
output c: f32[3, 1001]
output d: f32[3, 1001]
a = map(x * tanh(select(20 < x * 8, x * 8, log1p(exp(x * 8)))))
b = map(mish(x * 8))
c = map(tanh(log1p(exp(x))))
d = map(tanh(select(2 < x, x, log1p(exp(x)))))
)");
  const std::string text = EmitCpu(program);
  EXPECT_NE(text.find("Tanh"), std::string::npos) << "a low threshold shows:\n" << text;
  const std::string first =
      text.substr(text.find("void Map_t_a"), text.find("void Map_t_d") - text.find("void Map_t_a"));
  EXPECT_EQ(first.find("Tanh"), std::string::npos) << first;
  EXPECT_EQ(first.find("Log1p"), std::string::npos) << first;
  testing::ExpectRight(program, 2, random);
}

TEST(MathTest, MishHasItsEnds) {
  const KernelProgram program =
      testing::MustCheck("program m\ninput x: f32[6]\noutput y: f32[6]\ny = map(tanh(softplus(x)))\n");
  testing::Module module(program);
  ASSERT_TRUE(module.ok()) << module.log();
  const double inf = std::numeric_limits<double>::infinity();
  const auto got = module.Run({{inf, -inf, std::nan(""), 1000, -1000, 0}, {}}, 1)[1];
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(got[1], 0);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 1);
  EXPECT_EQ(got[4], 0);
  EXPECT_NEAR(got[5], 0.6, 1e-7);
}

}  // namespace
}  // namespace hone::dsl
