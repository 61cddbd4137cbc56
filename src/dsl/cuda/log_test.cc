// The device's logarithm, run on the host: its text is plain arithmetic, but for what is not a normal positive number.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>

#include "base/files.h"
#include "base/process.h"
#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

constexpr const char* kShims = R"(#include <bit>
#include <cmath>
#define __device__
static int __float_as_int(float x) { return std::bit_cast<int>(x); }
static float __int_as_float(int x) { return std::bit_cast<float>(x); }
static float Log2Unit(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? -INFINITY : std::log2(x); }
)";

class LogTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto lowered =
        Lower("program p\ninput x: f32[64]\noutput y: f32[64]\ny = map(log(x))\n", nullptr, TypicalDevice());
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<Complaint>(lowered));
    const Plan plan = EmitCuda(std::get<KernelProgram>(lowered));
    const std::string& text = plan.sources.at(0).text;
    const auto begin = text.find("__device__ float Log(float x)"), end = text.find("}  // namespace");
    ASSERT_NE(begin, std::string::npos) << text;
    const auto last = text.find("\n}\n", begin) + 3;
    ASSERT_LT(last, end);
    const auto folder = TempDirectory::Create("log");
    ASSERT_TRUE(folder);
    const std::string source = folder->path() + "/log.cc", library = folder->path() + "/log.so";
    std::ofstream(source) << kShims << text.substr(begin, last - begin)
                          << "extern \"C\" float log_there(float x) { return Log(x); }\n";
    const auto exit =
        hone::Run({.argv = {"g++", "-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", source, "-o", library},
                   .environment = InheritedEnvironment()});
    ASSERT_TRUE(exit);
    ASSERT_TRUE(exit->ok()) << exit->error;
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    log_ = reinterpret_cast<float (*)(float)>(dlsym(handle_, "log_there"));
  }
  void TearDown() override {
    if (handle_) dlclose(handle_);
  }

  void* handle_ = nullptr;
  float (*log_)(float) = nullptr;
};

TEST_F(LogTest, EveryNormalNumberHasItsLogarithmWithinOneAndAThirdUnits) {
  double worst = 0;
  for (std::uint64_t bits = 0x00800000; bits < 0x7f800000; bits += 997) {  // a prime: all exponents, all parts of each
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double want = std::log(static_cast<double>(x));
    const auto single = static_cast<float>(std::fabs(want));
    const double unit = std::nextafter(single, std::numeric_limits<float>::infinity()) - single;
    worst = std::max(worst, std::fabs(log_(x) - want) / unit);
  }
  EXPECT_LT(worst, 4.0 / 3);
  EXPECT_GT(worst, 0.5);
  EXPECT_EQ(log_(1.0f), 0);
}

TEST_F(LogTest, WhatIsNotNormalAndPositiveIsTheUnits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(log_(0.0f), -kInfinity);
  EXPECT_EQ(log_(-0.0f), -kInfinity);
  EXPECT_EQ(log_(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log_(-1.0f)));
  EXPECT_TRUE(std::isnan(log_(-kInfinity)));
  EXPECT_TRUE(std::isnan(log_(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_NEAR(log_(1e-40f), std::log(1e-40), 1e-4);
  EXPECT_NEAR(log_(std::numeric_limits<float>::denorm_min()), std::log(0x1p-149), 1e-4);
}

}  // namespace
}  // namespace hone::dsl
