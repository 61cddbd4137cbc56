// Modules on a device (tests/data/hostile_cuda_modules): each gets the verdict that its first line names, for the
// reason that stands behind it, and leaves the next evaluation unharmed. Skipped where there is no device; that all of
// them compile is seen anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bubblewrap.h"
#include "base/files.h"
#include "evaluate/certify.h"
#include "evaluate/local_evaluator.h"
#include "evaluate/testing/scaled_relu.h"
#include "target/cuda/driver.h"
#include "target/cuda/nvcc.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

std::string Folder() { return DataFolder("hostile_cuda_modules/"); }

// "// outcome: words of the reason", or "// one or other: words", then "// timed" where only the timing shows it.
struct HostileModule {
  std::string name, text, outcome, words;
  bool timed = false;
};

HostileModule Read(const std::string& name) {
  HostileModule module{.name = name};
  const auto text = ReadFile(Folder() + name + ".cu"), compute = ReadFile(Folder() + "compute.h");
  EXPECT_TRUE(text && compute) << name;
  const std::string first = text->substr(3, text->find('\n') - 3);
  module.outcome = first.substr(0, first.find(':'));
  if (first.find(": ") != std::string::npos) module.words = first.substr(first.find(": ") + 2);
  module.timed = text->find("\n// timed\n") != std::string::npos;
  module.text = *compute + *text;
  return module;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(Folder())) {
    if (file.path().extension() == ".cu") names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CudaModuleTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = cuda::NvccVersion(); !version) GTEST_SKIP() << version.error().message;
    if (const auto devices = cuda::FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
  }

  static Evaluator& Shared() {
    static std::unique_ptr<Evaluator> evaluator = [] {
      EvaluatorOptions options;
      options.program = fs::read_symlink("/proc/self/exe").parent_path() / "evaluate_processes";
      options.call_wall = std::chrono::milliseconds(1500);
      options.form = Form::kCudaModule;
      auto started = StartEvaluator(ScaledRelu(), std::move(options));
      EXPECT_TRUE(started) << started.error().message;
      return std::move(*started);
    }();
    return *evaluator;
  }

  static Evaluation Evaluate(const HostileModule& module) {
    const EvaluateRequest request{
        .time = module.timed, .timing_budget = std::chrono::milliseconds(200), .baselines = {}};
    auto evaluation = Shared().Evaluate({.kind = CandidateKind::kCudaModule, .text = module.text}, request);
    EXPECT_TRUE(evaluation) << module.name << ": " << evaluation.error().message;
    return evaluation ? std::move(*evaluation) : Evaluation{};
  }
};

TEST_F(CudaModuleTest, EveryModuleGetsItsVerdictForItsReason) {
  double honest_us = 0;
  for (const auto& name : Names()) {
    const HostileModule module = Read(name);
    const Evaluation evaluation = Evaluate(module);
    const Verdict& verdict = evaluation.verdict;
    std::cout << name << " | " << Name(verdict.outcome) << " | " << verdict.reason << " | "
              << (evaluation.timing ? evaluation.timing->warm.median_us : 0.0) << " us warm, "
              << (evaluation.timing ? evaluation.timing->cold.median_us : 0.0) << " us cold | "
              << evaluation.how->stages.check_ms << " ms check, " << evaluation.how->stages.timing_ms << " ms timing | "
              << evaluation.how->sandbox << '\n';
    // What is wrong may be NaN or not by chance.
    const std::size_t other = module.outcome.find(" or ");
    const std::string outcome(Name(verdict.outcome));
    EXPECT_TRUE(outcome == module.outcome.substr(0, other) ||
                (other != std::string::npos && outcome == module.outcome.substr(other + 4)))
        << name << ": " << outcome << ", not " << module.outcome << ": " << verdict.reason;
    EXPECT_NE(verdict.reason.find(module.words), std::string::npos) << name << ": " << verdict.reason;
    if (name == "honest" && evaluation.timing) honest_us = evaluation.timing->warm.median_us;
    // Who is accepted in spite of what it tries has gained nothing.
    if (verdict.accepted() && evaluation.timing && honest_us > 0) {
      EXPECT_GT(evaluation.timing->warm.median_us, 0.7 * honest_us) << name;
    }
  }
  EXPECT_TRUE(Evaluate(Read("honest")).verdict.accepted());
}

TEST_F(CudaModuleTest, AnHonestModuleIsCertifiedWhereBubblewrapHoldsIt) {
  if (const auto version = SanitizerVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto evaluation = Shared().Evaluate({.kind = CandidateKind::kCudaModule, .text = Read("honest").text},
                                            {.time = false, .baselines = {}, .certify = true});
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  for (const auto& line : evaluation->how->certificate) std::cout << line << '\n';
  EXPECT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
  EXPECT_EQ(evaluation->how->certificate.size(), BubblewrapWorks() && BubblewrapMountsProc() ? 4u : 1u);
}

TEST(CudaModuleFilesTest, AllCompileButTheOneThatShallNot) {
  if (const auto version = cuda::NvccVersion(); !version) GTEST_SKIP() << version.error().message;
  std::vector<std::string> names = Names();
  ASSERT_GT(names.size(), 30u);
  const auto threads = std::thread::hardware_concurrency();
  if (threads < 8) names = {"honest", "slows_the_clock", "sets_cache_aside", "does_not_compile"};  // one takes a second
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> compilers;
  for (unsigned i = 0; i < threads; ++i) {
    compilers.emplace_back([&] {
      for (std::size_t mine = next++; mine < names.size(); mine = next++) {
        const HostileModule module = Read(names[mine]);
        const auto compiled = cuda::CompileCudaModule({.source = module.text, .arch = TypicalDevice().arch});
        ASSERT_TRUE(compiled) << compiled.error().message;
        EXPECT_EQ(compiled->ok(), module.outcome != "compile_error") << module.name << ": " << compiled->log;
      }
    });
  }
}

}  // namespace
}  // namespace hone
