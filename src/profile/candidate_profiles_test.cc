#include "profile/candidate_profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "base/process.h"
#include "target/cpu/compiler.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

class CandidateProfilesTest : public testing::Test {
 protected:
  void SetUp() override {
    cache_ = std::make_unique<TempDirectory>(*TempDirectory::Create("profiles"));
    setenv("HONE_CACHE", cache_->path().c_str(), 1);
    problem_.name = "scaled";
    problem_.contract = Precision::kFp32;
    problem_.tensors = {{.name = "x", .shape = {4096, 4096}, .role = Role::kInput},
                        {.name = "y", .shape = {4096, 4096}, .role = Role::kOutput}};
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }

  std::variant<CandidateProfiles, Unprofiled> Run(CandidateKind kind, const std::string& text,
                                                  const DeviceModel& device) const {
    auto profiled = ProfileCandidate({kind, text}, "candidate", problem_, nullptr, device, "");
    EXPECT_TRUE(profiled) << profiled.error().message;
    return profiled ? *std::move(profiled) : std::variant<CandidateProfiles, Unprofiled>{};
  }

  static constexpr char kProgram[] =
      "program scaled\ninput x: f32[4096, 4096]\noutput y: f32[4096, 4096]\ny = map(x) -> it * 2\n";
  std::unique_ptr<TempDirectory> cache_;
  Problem problem_;
};

TEST_F(CandidateProfilesTest, AProgramForADeviceHasStatementsLaunchesAndAWhole) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto profiled = Run(CandidateKind::kProgram, kProgram, TypicalDevice());
  const auto* made = std::get_if<CandidateProfiles>(&profiled);
  const auto* profiles = made != nullptr ? &made->profiles : nullptr;
  ASSERT_NE(profiles, nullptr) << std::get<Unprofiled>(profiled).message;
  ASSERT_EQ(profiles->size(), 3u);
  EXPECT_EQ((*profiles)[0].scope, Scope::kStatement);
  EXPECT_EQ((*profiles)[0].Get("step_bytes"), 2 * 4096 * 4096 * 4);
  EXPECT_EQ((*profiles)[1].scope, Scope::kLaunch);
  EXPECT_EQ((*profiles)[1].Get("wide_access_share"), 1);
  EXPECT_EQ((*profiles)[2].scope, Scope::kPlan);
  EXPECT_EQ((*profiles)[2].Get("launches"), 1);
}

TEST_F(CandidateProfilesTest, AModuleForTheProcessorIsReadByObjdump) {
  if (const auto compiler = HostCompilerVersion(); !compiler) GTEST_SKIP() << compiler.error().message;
  if (!FindProgram("objdump")) GTEST_SKIP() << "objdump is not here";
#if !defined(__x86_64__)
  GTEST_SKIP() << "the code of other processors is not read";
#endif
  // Each element by the one before it: nothing to make vectors of.
  const auto profiled = Run(CandidateKind::kModule, R"(
extern "C" float hone_try(const float* x, long n) {
  float sum = 0;
  for (long i = 0; i < n; ++i) sum = sum * x[i] + 1.0f;
  return sum;
})",
                            DescribeMachine());
  const auto* made = std::get_if<CandidateProfiles>(&profiled);
  const auto* profiles = made != nullptr ? &made->profiles : nullptr;
  ASSERT_NE(profiles, nullptr) << std::get<Unprofiled>(profiled).message;
  const auto function = std::find_if(profiles->begin(), profiles->end(),
                                     [](const Profile& profile) { return profile.subject == "hone_try"; });
  ASSERT_NE(function, profiles->end());
  EXPECT_EQ(function->scope, Scope::kFunction);
  EXPECT_EQ(function->Get("scalar_share"), 1);
}

TEST_F(CandidateProfilesTest, WhatDoesNotCompileSaysWhere) {
  const auto program = Run(CandidateKind::kProgram, "program p\ninput z\n", TypicalDevice());
  ASSERT_TRUE(std::holds_alternative<Unprofiled>(program));
  EXPECT_NE(std::get<Unprofiled>(program).message.find("line 3"), std::string::npos)
      << std::get<Unprofiled>(program).message;
  const auto plan = Run(CandidateKind::kPlan, "{}", TypicalDevice());
  EXPECT_TRUE(std::holds_alternative<Unprofiled>(plan));
}

}  // namespace
}  // namespace hone
