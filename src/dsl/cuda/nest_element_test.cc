// Neighbours of a nest's elements that are read as packs where conditions choose what is read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"
#include "dsl/testing/hard_names.h"

namespace hone {
namespace {

// Two caches one behind the other, along their rows.
std::string Rows(int first, int last, const std::string& with) {
  return fmt::format(
      "input a: bf16[3, {0}, 16]\ninput b: bf16[3, {1}, 16]\noutput y: bf16[3, {2}, 16]\n"
      "y = nest [i < 3, j < {2}, k < 16] (select({0} <= j, b[i, j - {0}, k], a[i, j, k])){3}",
      first, last, first + last, with);
}

// Likewise along their columns.
std::string Columns(int first, int last, const std::string& with) {
  return fmt::format(
      "input a: f32[5, {0}]\ninput b: f32[5, {1}]\noutput y: f32[5, {2}]\n"
      "y = nest [i < 5, k < {2}] (select(k < {0}, a[i, k], b[i, k - {0}])){3}",
      first, last, first + last, with);
}

// Halves of a row that change places, one with its sign turned, as rotary embeddings have them.
std::string Halves(const std::string& with) {
  return "input x: f16[7, 32]\ninput c: f16[32]\noutput y: f16[7, 32]\n"
         "y = nest [i < 7, k < 32] (x[i, k] * c[k] + select(16 <= k, x[i, k - 16], -x[i, k + 16]))" +
         with;
}

// A row that data choose one of two tensors for, the second with fewer rows than there are.
std::string Chosen(const std::string& with) {
  return "input at: i64[1]\ninput a: f32[2, 8]\ninput b: f32[6, 8]\noutput y: f32[6, 8]\n"
         "y = nest [i < 6, k < 8] (select(at[0] == i, a[i - at[0], k], select(or(i < 2, 3 < i), b[i, k], a[i - 2, "
         "k])))" +
         with;
}

using NestPacksTest = testing::CudaProgramTest;
using NestPacksOnHostTest = dsl::testing::DeviceBlocksTest;
using NestPacksOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(NestPacksTest, WhatOneConditionOfAPackChoosesIsReadAsOne) {
  const auto packs = [](const std::string& program) {
    const auto lowered = Lowered(program);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&lowered);
    EXPECT_NE(kernels, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    const std::string text = kernels ? dsl::testing::CudaText(*kernels) : "";
    int count = 0;
    for (std::size_t at = text.find(" = *reinterpret_cast<const Pack<"); at != std::string::npos;
         at = text.find(" = *reinterpret_cast<const Pack<", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(packs(Rows(13, 3, "")), 2);
  EXPECT_EQ(packs(Columns(12, 8, "")), 2);
  EXPECT_EQ(packs(Columns(10, 10, " with {pack: 2}")), 2);
  EXPECT_EQ(packs(Columns(11, 9, "")), 0);  // packs would have elements of both
  EXPECT_EQ(packs(Halves("")), 4);
  const auto across = Lowered(Columns(10, 10, " with {pack: 4}"));
  EXPECT_TRUE(std::holds_alternative<dsl::Complaint>(across));
}

TEST_F(NestPacksTest, OnlyWhatIsChosenIsRead) {
  const auto lowered = Lowered(Rows(13, 3, ""));
  const std::string text = dsl::testing::CudaText(std::get<dsl::KernelProgram>(lowered));
  EXPECT_NE(text.find("if (13 <= "), std::string::npos) << text;
  EXPECT_NE(text.find("if (!(13 <= "), std::string::npos) << text;
  ExpectLaunchesWithoutSpills(Rows(13, 3, ""), 1);
}

TEST_F(NestPacksOnHostTest, BlocksComputeWhatTheProgramSays) {
  for (const auto& program :
       {Rows(13, 3, ""), Columns(12, 8, ""), Columns(10, 10, ""), Columns(11, 9, ""), Halves(""), Chosen("")})
    ExpectBlocksSay(program, 1e-6);
}

TEST_F(NestPacksOnDeviceTest, ItIsWhatTheProgramSays) {
  for (const auto& program : {Rows(13, 3, ""), Columns(12, 8, ""), Columns(10, 10, ""), Halves(""), Chosen("")})
    ExpectWhatItSays(program, 1e-6);
}

}  // namespace
}  // namespace hone
