// A function of a device's text, run on the host: its text is plain arithmetic but for what the units of a device give,
// for which the host has stand-ins.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <variant>

#include "base/files.h"
#include "base/process.h"
#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl::testing {

class DeviceFunctionTest : public ::testing::Test {
 protected:
  // Builds the function of the head of the program's text, `float name(float)`, with g++, and loads it.
  void Load(std::string_view program, std::string_view name) {
    const auto lowered = Lower(fmt::format("program p\n{}\n", program), nullptr, TypicalDevice());
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<Complaint>(lowered));
    const Plan plan = EmitCuda(std::get<KernelProgram>(lowered));
    const std::string& text = plan.sources.at(0).text;
    const auto begin = text.find(fmt::format("__device__ float {}(float x)", name)), end = text.find("}  // namespace");
    ASSERT_NE(begin, std::string::npos) << text;
    const auto last = text.find("\n}\n", begin) + 3;
    ASSERT_LT(last, end);
    const auto folder = TempDirectory::Create("device_function");
    ASSERT_TRUE(folder);
    const std::string source = folder->path() + "/function.cc", library = folder->path() + "/function.so";
    std::ofstream(source) << kStandIns << text.substr(begin, last - begin)
                          << fmt::format("extern \"C\" float there(float x) {{ return {}(x); }}\n", name);
    const auto exit =
        hone::Run({.argv = {"g++", "-std=c++20", "-O1", "-ffp-contract=off", "-shared", "-fPIC", source, "-o", library},
                   .environment = InheritedEnvironment()});
    ASSERT_TRUE(exit);
    ASSERT_TRUE(exit->ok()) << exit->error;
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    of_ = reinterpret_cast<float (*)(float)>(dlsym(handle_, "there"));
  }
  void TearDown() override {
    if (handle_) dlclose(handle_);
  }

  float (*of_)(float) = nullptr;

 private:
  static constexpr const char* kStandIns = R"(#include <bit>
#include <cmath>
#define __device__
static int __float_as_int(float x) { return std::bit_cast<int>(x); }
static float __int_as_float(int x) { return std::bit_cast<float>(x); }
static float InverseUnit(float x) { return 1 / x; }
static float Log2Unit(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? -INFINITY : std::log2(x); }
static float Exp2Unit(float x) { return x < -126 ? 0 : std::exp2(x); }
)";
  void* handle_ = nullptr;
};

}  // namespace hone::dsl::testing
