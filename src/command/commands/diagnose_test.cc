// hone diagnose of a run: its attempts with their times, and with what a device counted of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/process.h"
#include "base/testing/must.h"
#include "search/record.h"
#include "store/store.h"
#include "target/cuda/nvrtc.h"

namespace hone {
namespace {

using Json = nlohmann::json;
using testing::Must;

constexpr std::string_view kProblem = R"({"hone_problem": 1, "name": "half", "tensors": [
  {"name": "x", "shape": [4096, 1024], "dtype": "f32", "role": "input",
   "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [4096, 1024], "dtype": "f32", "role": "output"}],
  "graph": [{"op": "mul", "args": {"self": "%x", "other": 0.5}, "outputs": ["y"]}]})";
constexpr std::string_view kHalf =
    "program half\ninput x: f32[4096, 1024]\noutput y: f32[4096, 1024]\ny = map(x) -> it * 0.5\n";
constexpr int kBest = 2;

class DiagnoseRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::getenv("HONE_PROGRAM")) GTEST_SKIP() << "HONE_PROGRAM does not name the program (ctest sets it)";
    if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    setenv("HONE_CACHE", folder_.path().c_str(), 1);
    Must(WriteFileAtomically(problem_, kProblem));
    Store store = Must(Store::Open(store_));
    RunRecord run;
    run.problem_name = "half";
    run.problem_identity = Identity(Must(ParseProblem(std::string(kProblem), "half")));
    run.target = "cuda";
    run.machine = "h200";
    run.settings = ToJson(RunSettings{});
    run.budget = ToJson(Budget{});
    run.baselines = "{}";
    run_ = Must(store.CreateRun(run, kProblem));
    run_.best_attempt = kBest;
    Insight counted;  // that its issue slots are taken, of a kernel whose text says that memory is what it waits for
    counted.counted = {{.subject = Kernel(), .where = "/steps/0", .facts = {{"dram_busy", 0.1}, {"fma_busy", 0.9}}}};
    Add(store, 1, Outcome::kAccepted, 300, {});
    Add(store, kBest, Outcome::kAccepted, 20, counted);
    Add(store, 3, Outcome::kWrongResult, 0, {});
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }

  // As its profile is called, which a diagnosis of the text says.
  std::string Kernel() {
    const std::string program = folder_.path() + "/half.hk";
    Must(WriteFileAtomically(program, kHalf));
    return KernelIn(Document({problem_, program, "--device", "h200"}))["profile"]["subject"];
  }
  // The only launch of a diagnosis.
  static Json KernelIn(const Json& document) {
    Json found;
    int launches = 0;
    for (const Json& subject : document["subjects"]) {
      if (subject["profile"]["scope"] != "launch") continue;
      found = subject;
      ++launches;
    }
    EXPECT_EQ(launches, 1) << document;
    return found;
  }
  void Add(Store& store, int number, Outcome outcome, double us, const Insight& insight) {
    Attempt attempt;
    attempt.number = number;
    attempt.proposal.candidate = {CandidateKind::kProgram, std::string(kHalf)};
    AttemptRecord record = StartedRecord(run_.id, attempt);
    Must(store.BeginAttempt(record, kHalf));
    Evaluation evaluation;
    evaluation.verdict.outcome = outcome;
    if (us > 0) evaluation.timing.emplace().warm.median_us = us;
    Complete(record, evaluation, insight);
    Must(store.EndAttempt(record, "", run_));
  }
  // By the program itself, which compiles in processes of its own.
  Exit Call(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {std::getenv("HONE_PROGRAM"), "diagnose"});
    arguments.insert(arguments.end(), {"--store", store_});
    return Must(hone::Run({.argv = std::move(arguments), .environment = InheritedEnvironment()}));
  }
  Json Document(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const Exit exit = Call(std::move(arguments));
    EXPECT_TRUE(exit.ok()) << exit.error;
    return Json::parse(exit.output, nullptr, false);
  }
  std::string Refusal(std::vector<std::string> arguments) {
    const Exit exit = Call(std::move(arguments));
    EXPECT_FALSE(exit.ok());
    EXPECT_EQ(std::count(exit.error.begin(), exit.error.end(), '\n'), 1) << exit.error;
    return exit.error;
  }
  static void Holds(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  TempDirectory folder_ = Must(TempDirectory::Create("diagnose"));
  std::string store_ = folder_.path() + "/runs.sqlite", problem_ = folder_.path() + "/half.json";
  RunRecord run_;
};

TEST_F(DiagnoseRunTest, TheBestAttemptIsMeantWithWhatWasCountedOfIt) {
  const Json best = Document({problem_, run_.id});
  EXPECT_EQ(best["run"], run_.id);
  EXPECT_EQ(best["attempt"], kBest);
  EXPECT_EQ(best["median_us"], 20.0);
  EXPECT_EQ(best["device"], "NVIDIA H200");
  const Json kernel = KernelIn(best);  // one: what was counted is of the kernel that was compiled
  EXPECT_EQ(kernel["class"], "compute");
  EXPECT_EQ(kernel["disagree"], true);

  const Json first = Document({problem_, run_.id, "--attempt", "1"});
  EXPECT_EQ(KernelIn(first)["class"], "memory");
  EXPECT_TRUE(KernelIn(first)["by_counters"].is_null());
  EXPECT_EQ(first["findings"].back()["rule"], "roofline_gap") << "300 us beside a bound of a few";
}

TEST_F(DiagnoseRunTest, AllAcceptedAttemptsAreALineEach) {
  const Json all = Document({problem_, run_.id, "--all"});
  ASSERT_EQ(all["attempts"].size(), 2u);
  EXPECT_EQ(all["attempts"][0]["class"], "memory");
  EXPECT_EQ(all["attempts"][0]["counted"], false);
  EXPECT_FALSE(all["attempts"][0]["finding"].is_null());
  EXPECT_EQ(all["attempts"][1]["class"], "compute");
  EXPECT_EQ(all["attempts"][1]["counted"], true);
  Holds(Call({problem_, run_.id, "--all"}).output, "*      2   20.0 us  yes      compute");
}

TEST_F(DiagnoseRunTest, WhatCannotBeMeantIsRefusedInALine) {
  Holds(Refusal({problem_, run_.id, "--attempt", "9"}), "run " + run_.id + " has no attempt 9; it has 1 to 3");
  Holds(Refusal({problem_, run_.id, "--attempt", "1", "--all"}), "--all is of every attempt: leave out --attempt");
  Holds(Refusal({problem_, run_.id, "--target", "cpu"}), "run " + run_.id + " is on cuda: leave out --target");
  Holds(Refusal({problem_, "ffffffffff"}), "`hone runs` lists them");
  const std::string file = folder_.path() + "/half.hk";
  Holds(Refusal({problem_, file, "--all"}), "--attempt and --all are of a run: " + file + " is a file");
  const std::string other = folder_.path() + "/other.json";
  std::string text(kProblem);
  text.replace(text.find("0.5"), 3, "0.25");
  Must(WriteFileAtomically(other, text));
  Holds(Refusal({other, run_.id}), "run " + run_.id + " is of another problem (half) than " + other);
}

}  // namespace
}  // namespace hone
