// A helping as the suite sees it, with a program of a few lines of shell in the place of ours.
#include "command/suite_serve.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <string>

#include "base/files.h"
#include "base/testing/must.h"
#include "search/record.h"
#include "store/store.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using testing::Must;

class SuiteServeTest : public ::testing::Test {
 protected:
  // `script` is our program; its arguments are in the file "said".
  Result<Helping> Serve(const std::string& script, double seconds = 0) {
    const std::string program = folder_.path() + "/hone";
    Must(WriteFileAtomically(program, "#!/bin/sh\necho \"$@\" > " + Said() + "\n" + script + "\n"));
    chmod(program.c_str(), 0755);
    how_.program = program;
    how_.store = folder_.path() + "/runs.sqlite";
    how_.measured = [this](const ChildUse& use) { use_ = use; };
    return ServeByChild(
        how_, {.key = "p", .name = "p", .group = "g", .path = folder_.path() + "/p.json"},
        {.number = 1, .attempts = 8, .seconds = seconds, .more_follow = more_follow_, .device = "GPU-1"});
  }
  std::string Said() const { return folder_.path() + "/said"; }

  const TempDirectory folder_ = Must(TempDirectory::Create("serve"));
  SuiteServe how_;
  bool more_follow_ = false;
  ChildUse use_;
};

constexpr const char* kWaits = "echo 'another hone is at work on GPU-1 (A): waiting until it is done' >&2; sleep 1; ";
constexpr const char* kOurs = "echo 'GPU-1 (A) is ours after 1.0 s' >&2; ";
constexpr const char* kAnswer =
    R"(echo '{"attempts": 0, "run": null, "stop": "nothing", "search_s": 2, "own_s": 0.25,
"device": {"held_s": 2.5, "evaluating_s": 1.5}, "compilers": {"threads": 3, "busy_s": 0.5, "of_s": 6}}')";

TEST_F(SuiteServeTest, WhatAChildWaitsForItsDeviceIsNotItsTime) {
  const auto begun = std::chrono::steady_clock::now();
  const Helping waited = Must(Serve(std::string(kWaits) + kOurs + "sleep 0.2; " + kAnswer));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(waited.failure, "nothing");
  EXPECT_GE(took.count(), 1.2);
  EXPECT_GE(waited.seconds, 0.2);
  EXPECT_LE(waited.seconds, took.count() - 0.9);
  EXPECT_EQ(use_.held_s, 2.5);
  EXPECT_EQ(use_.evaluating_s, 1.5);
  EXPECT_EQ(use_.search_s, 2);
  EXPECT_EQ(use_.own_s, 0.25);
  EXPECT_EQ(use_.compiling_s, 0.5);
  EXPECT_EQ(use_.compilers, 3);
}

TEST_F(SuiteServeTest, AChildThatFailsWhileItWaitsHasSpentNoTimeEither) {
  const auto begun = std::chrono::steady_clock::now();
  const Helping failed = Must(Serve(std::string(kWaits) + "exit 3"));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  EXPECT_NE(failed.failure, "");
  EXPECT_LE(failed.seconds, took.count() - 0.9);
}

TEST_F(SuiteServeTest, OnlyALastHelpingConfirmsTheFew) {
  Must(Serve(kAnswer));
  EXPECT_EQ(Must(ReadFile(Said())).find("--confirm"), std::string::npos);
  more_follow_ = true;
  Must(Serve(kAnswer));
  EXPECT_NE(Must(ReadFile(Said())).find(" --confirm fastest"), std::string::npos);
}

TEST_F(SuiteServeTest, AChildIsToldItsDevice) {
  how_.arguments = {"--target", "cuda"};
  Must(Serve(kAnswer, 30));
  const std::string said = Must(ReadFile(Said()));
  EXPECT_TRUE(said.starts_with("optimize " + folder_.path() + "/p.json --json --budget 8 --time ")) << said;
  EXPECT_TRUE(said.ends_with("--devices GPU-1 --target cuda\n")) << said;
}

TEST_F(SuiteServeTest, WhatARunSpentBeforeTheSuiteIsNotItsTime) {
  how_.store = folder_.path() + "/runs.sqlite";
  std::string id;
  {
    Store store = Must(Store::Open(how_.store));
    RunRecord run = testing::SomeRun();
    run.budget = ToJson(Budget{.spent_s = 100});
    id = Must(store.CreateRun(run, "{}")).id;
  }
  const Helping made = Must(Serve("echo '{\"attempts\": 3, \"run\": \"" + id + "\"}'"));
  EXPECT_EQ(made.failure, "");
  EXPECT_LT(made.seconds, 50);
  EXPECT_EQ(made.run_s, 100) << "which the run's own limit counts";
}

}  // namespace
}  // namespace hone
