// Programs of the language as plans for a CUDA device: tests that compile them, where NVRTC is, and tests that run them
// there and hold what they make against the interpreter. Each is skipped where its tool or device is not.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/lower.h"
#include "dsl/testing/hard_names.h"
#include "dsl/testing/interpreter.h"
#include "problem/element.h"
#include "target/cuda/built_plan.h"
#include "target/cuda/driver.h"
#include "target/cuda/loaded_plan.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone::testing {

using dsl::KernelBuffer;
using dsl::KernelProgram;

class CudaProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  }

  // The body of a program of the language, for a device.
  static std::variant<KernelProgram, dsl::Complaint> Lowered(std::string_view text) {
    return dsl::Lower(fmt::format("program p\n{}\n", text), nullptr, TypicalDevice());
  }

  static std::string UpdatedName(const KernelProgram& program, const KernelBuffer& buffer) {
    return buffer.updates < 0 ? "" : program.buffers[static_cast<std::size_t>(buffer.updates)].name;
  }

  // Its plan, compiled, with the facts of its kernels; a plan that does not fit the device fails the test, and so does
  // one of which more than names changes with the program's.
  static cuda::BuiltPlan Build(const KernelProgram& program) {
    dsl::testing::ExpectNamesChangeNothing(program, dsl::testing::CudaText);
    Problem problem;
    for (const auto& buffer : program.buffers) {
      if (buffer.home == KernelBuffer::Home::kIntermediate) continue;
      problem.tensors.push_back({.name = buffer.name,
                                 .shape = buffer.shape,
                                 .dtype = buffer.dtype,
                                 .role = buffer.home == KernelBuffer::Home::kInput       ? Role::kInput
                                         : buffer.home == KernelBuffer::Home::kParameter ? Role::kParameter
                                                                                         : Role::kOutput,
                                 .updates = UpdatedName(program, buffer)});
    }
    auto built = cuda::BuildPlan(dsl::EmitCuda(program), problem, TypicalDevice());
    EXPECT_TRUE(built) << built.error().message;
    const auto* refusal = std::get_if<cuda::PlanRefusal>(&*built);
    EXPECT_EQ(refusal, nullptr) << refusal->where << ": " << refusal->message << "\n" << refusal->log;
    return refusal ? cuda::BuiltPlan{} : std::get<cuda::BuiltPlan>(std::move(*built));
  }

  // Of a program that has to lower.
  static cuda::BuiltPlan BuiltOf(std::string_view text) {
    const auto lowered = Lowered(text);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    EXPECT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    return program ? Build(*program) : cuda::BuiltPlan{};
  }
  static void ExpectLaunchesWithoutSpills(const std::string& text, std::size_t launches) {
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    EXPECT_EQ(built.launches.size(), launches);
    for (const auto& launch : built.launches)
      EXPECT_EQ(launch.spill_load_bytes + launch.spill_store_bytes, 0) << launch.name;
  }
};

class ProgramOnDeviceTest : public CudaProgramTest {
 protected:
  void SetUp() override {
    CudaProgramTest::SetUp();
    if (IsSkipped()) return;
    if (const auto devices = cuda::FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
    auto context = cuda::Context::Open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_ = std::move(*context);
  }

  // What the device makes of the values, twice over the same memory and once as a graph; buffers by their numbers.
  std::vector<std::vector<double>> Run(const KernelProgram& program, const std::vector<std::vector<double>>& values) {
    const auto built = Build(program);
    auto plan = cuda::LoadedPlan::Load(*context_, built);
    EXPECT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE((*plan)->FillBuffers(0xff));
    std::vector<cuda::LoadedPlan::Binding> bindings;
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      const KernelBuffer& buffer = program.buffers[b];
      const auto bytes = ElementCount(buffer.shape) * static_cast<std::int64_t>(Bytes(buffer.dtype));
      if (buffer.updates >= 0) {  // one memory
        bindings.push_back(
            {buffer.name, bindings[static_cast<std::size_t>(buffer.updates)].address, bytes, buffer.dtype});
        continue;
      }
      const auto address = context_->Allocate(bytes);
      EXPECT_TRUE(address) << address.error().message;
      bindings.push_back({buffer.name, *address, bytes, buffer.dtype});
    }
    const auto fill = [&] {
      for (std::size_t b = 0; b < bindings.size(); ++b) {
        const KernelBuffer& buffer = program.buffers[b];
        if (buffer.updates >= 0) continue;
        std::vector<char> memory(static_cast<std::size_t>(bindings[b].bytes), '\xff');
        for (std::size_t i = 0; i < values[b].size(); ++i)
          SetElement(buffer.dtype, memory.data(), static_cast<std::int64_t>(i), values[b][i]);
        EXPECT_TRUE(context_->CopyIn(bindings[b].address, memory.data(), bindings[b].bytes));
        EXPECT_TRUE(context_->Wait());
      }
    };
    const bool updates = std::any_of(program.buffers.begin(), program.buffers.end(),
                                     [](const KernelBuffer& buffer) { return buffer.updates >= 0; });
    fill();
    const auto prepared = (*plan)->Prepare(bindings);
    EXPECT_TRUE(prepared) << prepared.error().message;
    const auto bound = (*plan)->Bind(bindings);
    EXPECT_TRUE(bound) << bound.error().message;
    EXPECT_TRUE((*plan)->Run(*bound));
    EXPECT_TRUE((*plan)->Run(*bound));
    if (updates) {  // what a call is to find
      EXPECT_TRUE(context_->Wait());
      fill();
    }
    const auto replayed = (*plan)->RunGraph(*bound);
    EXPECT_TRUE(replayed) << replayed.error().message;
    const auto done = context_->Wait();
    EXPECT_TRUE(done) << done.error().message;
    std::vector<std::vector<double>> got(program.buffers.size());
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      std::vector<char> memory(static_cast<std::size_t>(bindings[b].bytes));
      EXPECT_TRUE(context_->CopyOut(memory.data(), bindings[b].address, bindings[b].bytes));
      EXPECT_TRUE(context_->Wait());
      got[b].resize(static_cast<std::size_t>(ElementCount(program.buffers[b].shape)));
      const DType dtype = program.buffers[b].dtype;
      for (std::size_t i = 0; i < got[b].size(); ++i)
        got[b][i] = ElementAsDouble(dtype, memory.data(), static_cast<std::int64_t>(i));
    }
    for (std::size_t b = 0; b < bindings.size(); ++b) {
      if (program.buffers[b].updates < 0) context_->Free(bindings[b].address);
    }
    return got;
  }

  // What whole numbers of 32 bits are drawn: below 100, as indices may be, or any.
  enum class Wholes : std::uint8_t { kBelow100, kAnyBits };

  // Runs it on random numbers, under names that are hard to bear; every output has to be the interpreter's, but for
  // `tolerance` of the elements' size.
  void ExpectWhatItSays(std::string_view text, double tolerance = 1e-5, Wholes wholes = Wholes::kBelow100) {
    std::mt19937 random(5);
    const auto lowered = Lowered(text);
    const auto program = dsl::testing::WithHardNames(std::get<KernelProgram>(lowered), dsl::testing::CudaText);
    const bool narrow = std::any_of(program.buffers.begin(), program.buffers.end(), [](const KernelBuffer& buffer) {
      return buffer.home == KernelBuffer::Home::kOutput && buffer.dtype == DType::kF16;
    });
    const double parts = narrow ? 8192 : 512;  // of 1: sums of products stay below what an output holds
    std::vector<std::vector<double>> values(program.buffers.size());
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].home > KernelBuffer::Home::kParameter) continue;
      values[b].resize(static_cast<std::size_t>(ElementCount(program.buffers[b].shape)));
      const DType dtype = program.buffers[b].dtype;
      for (double& value : values[b]) {
        const int drawn = static_cast<int>(random() % 4096) - 1024;
        char memory[8];
        const bool any = wholes == Wholes::kAnyBits && dtype == DType::kI32;
        SetElement(dtype, memory, 0,
                   IsFloat(dtype) ? drawn / parts
                   : any          ? static_cast<double>(static_cast<std::int32_t>(random()))
                                  : std::abs(drawn % 100));
        value = ElementAsDouble(dtype, memory, 0);
      }
    }
    const auto got = Run(program, values);
    dsl::testing::Interpreter(program, values).Run();
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].home != KernelBuffer::Home::kOutput) continue;
      // Below that a half has no further bits.
      const double least = program.buffers[b].dtype == DType::kF16 ? 0x1p-24 : 0;
      double size = 0;
      for (const double want : values[b])
        size += std::isfinite(want) ? std::fabs(want) / static_cast<double>(values[b].size()) : 0;
      int wrong = 0;
      for (std::size_t i = 0; i < values[b].size() && wrong < 3; ++i) {
        const double want = values[b][i], is = got[b][i];
        if (std::isinf(want) ? is == want : std::fabs(is - want) <= least + tolerance * (size + std::fabs(want)))
          continue;
        ++wrong;
        ADD_FAILURE() << program.buffers[b].name << "[" << i << "] is " << is << ", not " << want;
      }
    }
  }

  std::unique_ptr<cuda::Context> context_;
};

}  // namespace hone::testing
