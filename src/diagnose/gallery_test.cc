// Rules against real kernels: examples/gallery/RULE has one with the fault and one without. Compiled, not run.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

#include "base/files.h"
#include "candidate/launch_lines.h"
#include "diagnose/diagnose.h"
#include "graph/graph.h"
#include "profile/collect.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

class GalleryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    cache_ = std::make_unique<TempDirectory>(*TempDirectory::Create("gallery"));
    setenv("HONE_CACHE", cache_->path().c_str(), 1);
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }

  static fs::path Folder() { return fs::path(std::getenv("HONE_SOURCE")) / "examples" / "gallery"; }

  // Alone where there is no problem beside it, else with its launches.
  static std::vector<Profile> ProfilesOfFile(const fs::path& file) {
    const DeviceModel device = TypicalDevice();
    const std::string text = ReadFile(file.string()).value();
    const fs::path beside = file.parent_path() / "problem.json";
    std::vector<Profile> profiles;
    if (!fs::exists(beside)) {
      const auto compiled = cuda::CompileCubin({.source = text, .arch = device.arch});
      EXPECT_TRUE(compiled && compiled->ok()) << file << ": " << (compiled ? compiled->log : compiled.error().message);
      if (!compiled || !compiled->ok()) return {};
      const auto kernels = cuda::ReadCubin(compiled->cubin);
      EXPECT_TRUE(kernels && !kernels->empty()) << file;
      for (const auto& kernel : *kernels) profiles.push_back(ProfileOf(kernel, device));
      return profiles;
    }
    const auto problem = LoadProblem(beside.string());
    EXPECT_TRUE(problem) << problem.error().message;
    const auto graph = Graph::Create(*problem);
    EXPECT_TRUE(graph) << graph.error().message;
    const auto plan = ParsePlan(text, *problem);
    if (const auto* issue = std::get_if<PlanIssue>(&plan)) {
      ADD_FAILURE() << file << ": " << issue->where << ": " << issue->message;
      return {};
    }
    const auto built = cuda::BuildPlan(std::get<Plan>(plan), *problem, device);
    EXPECT_TRUE(built) << built.error().message;
    if (const auto* refusal = std::get_if<cuda::PlanRefusal>(&*built)) {
      ADD_FAILURE() << file << ": " << refusal->where << ": " << refusal->message << refusal->log;
      return {};
    }
    return ProfilesOf(std::get<cuda::BuiltPlan>(*built), "plan", *problem, &*graph, device);
  }

  std::unique_ptr<TempDirectory> cache_;
};

// Of facts that only a run brings.
bool WaitsForCounters(const std::string& rule, const Diagnosis& diagnosis) {
  for (const Subject& subject : diagnosis.subjects) {
    for (const SilentRule& silent : subject.silent) {
      if (silent.rule == rule) return true;
    }
  }
  return false;
}

TEST_F(GalleryTest, TheMeantRuleFiresFirstOnTheFaultyKernelAndIsSilentOnTheMendedOne) {
  std::set<std::string> tried;
  for (const auto& entry : fs::directory_iterator(Folder())) {
    if (!entry.is_directory()) continue;
    const std::string rule = entry.path().filename().string();
    tried.insert(rule);
    const Diagnosis faulty = Diagnose(ProfilesOfFile(entry.path() / "faulty.cu"));
    if (WaitsForCounters(rule, faulty)) {  // docs/measured/profile.md has what a device says
      EXPECT_FALSE(Diagnose(ProfilesOfFile(entry.path() / "mended.cu")).subjects.empty());
      continue;
    }
    EXPECT_EQ(faulty.findings.empty() ? "none" : faulty.findings[0].rule, rule) << Describe(faulty);
    const Diagnosis mended = Diagnose(ProfilesOfFile(entry.path() / "mended.cu"));
    EXPECT_FALSE(mended.subjects.empty());
    EXPECT_TRUE(std::none_of(mended.findings.begin(), mended.findings.end(),
                             [&](const Finding& finding) { return finding.rule == rule; }))
        << rule << " fires on its mended kernel:\n"
        << Describe(mended);
  }
  EXPECT_GE(tried.size(), 10u);
}

}  // namespace
}  // namespace hone
