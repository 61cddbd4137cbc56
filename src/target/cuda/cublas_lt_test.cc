#include "target/cuda/cublas_lt.h"

#include <gtest/gtest.h>

#include <vector>

#include "target/cuda/toolkit.h"

namespace hone::cuda {
namespace {

// [rows, columns] with a value of its own at every place, small enough for sums that FP32 holds exactly.
std::vector<float> Numbers(std::int64_t count, int step) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>((i * step) % 7 - 3));
  return numbers;
}

class CublasLtTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto devices = FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
    const auto path = FindLibrary(Library::kCublasLt);
    if (!path) GTEST_SKIP() << path.error().message;
    auto context = Context::Open(0);
    ASSERT_TRUE(context) << context.error().message;
    context_ = std::move(*context);
    auto library = CublasLt::Open(*path);
    ASSERT_TRUE(library) << library.error().message;
    library_ = std::move(*library);
  }
  Address Put(const std::vector<float>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
    const auto at = context_->Allocate(bytes);
    EXPECT_TRUE(at && context_->CopyIn(*at, values.data(), bytes));
    return *at;
  }
  std::unique_ptr<Context> context_;
  std::unique_ptr<CublasLt> library_;
};

TEST(CublasLtFileTest, WhatIsNoLibraryIsAFailureWithTheLoadersReason) {
  const auto opened = CublasLt::Open("/nowhere/libcublasLt.so.13");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/nowhere/"), std::string::npos) << opened.error().message;
}

TEST_F(CublasLtTest, EveryOrderOfTheOperandsGivesTheSameProduct) {
  constexpr std::int64_t kM = 12, kN = 20, kK = 8, kBatch = 3;
  const auto a = Numbers(kBatch * kM * kK, 3), b = Numbers(kBatch * kK * kN, 5), c = Numbers(kBatch * kM * kN, 4),
             bias = Numbers(kN, 2);
  for (const bool a_turned : {false, true}) {
    for (const bool b_turned : {false, true}) {
      MatmulCall call{.m = kM, .n = kN, .k = kK, .batch = kBatch, .alpha = 2, .beta = -1};
      call.a = {Put(a), DType::kF32, {kK, 1}, kM * kK};
      call.b = {Put(b), DType::kF32, {kN, 1}, kK * kN};
      if (a_turned) call.a.strides = {1, kM};
      if (b_turned) call.b.strides = {1, kK};
      call.c = {Put(c), DType::kF32, {kN, 1}, kM * kN};
      call.d = {Put(std::vector<float>(kBatch * kM * kN)), DType::kF32, {kN, 1}, kM * kN};
      call.bias = Put(bias);
      call.activation = Activation::kRelu;
      const auto prepared = library_->Prepare(call);
      ASSERT_TRUE(prepared) << prepared.error().message;
      const auto run = library_->Run(*context_, **prepared);
      ASSERT_TRUE(run) << run.error().message;
      std::vector<float> got(kBatch * kM * kN);
      ASSERT_TRUE(context_->CopyOut(got.data(), call.d.at, static_cast<std::int64_t>(got.size() * sizeof(float))));
      for (std::int64_t e = 0; e < kBatch * kM * kN; ++e) {
        const std::int64_t batch = e / (kM * kN), i = e / kN % kM, j = e % kN;
        float sum = 0;
        for (std::int64_t k = 0; k < kK; ++k) {
          sum += a[static_cast<std::size_t>(batch * kM * kK + i * call.a.strides[0] + k * call.a.strides[1])] *
                 b[static_cast<std::size_t>(batch * kK * kN + k * call.b.strides[0] + j * call.b.strides[1])];
        }
        const float want = std::max(0.0f, 2 * sum - c[static_cast<std::size_t>(e)] + bias[static_cast<std::size_t>(j)]);
        ASSERT_EQ(got[static_cast<std::size_t>(e)], want)
            << e << (a_turned ? " a turned" : "") << (b_turned ? " b turned" : "");
      }
    }
  }
}

TEST_F(CublasLtTest, AProposalThatIsNotThereIsSaid) {
  MatmulCall call{.m = 16, .n = 16, .k = 16, .algorithm = 5000};
  const Address at = Put(std::vector<float>(256));
  call.a = call.b = {at, DType::kF32, {16, 1}, 0};
  call.d = {Put(std::vector<float>(256)), DType::kF32, {16, 1}, 0};
  const auto prepared = library_->Prepare(call);
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find("no number 5000"), std::string::npos) << prepared.error().message;
}

}  // namespace
}  // namespace hone::cuda
