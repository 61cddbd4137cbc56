// The evaluator against modules that are wrong, that crash, and that cheat (tests/data/hostile): each has to be refused
// for the right reason, and leave the next evaluation unharmed.
// One file because each of them is judged by the one evaluator that all of them have to leave unharmed.
#include "evaluate/local_evaluator.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/bubblewrap.h"
#include "base/date.h"
#include "base/files.h"
#include "problem/import/confine.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

constexpr const char* kProblem = R"({
  "hone_problem": 1, "name": "biased relu", "contract": "fp32",
  "tensors": [
    {"name": "x", "shape": [64, 1000], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "b", "shape": [1000], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": -1, "high": 1}},
    {"name": "y", "shape": [64, 1000], "dtype": "f32", "role": "output"}
  ],
  "graph": [
    {"op": "aten.add.Tensor", "args": {"self": "%x", "other": "%b"}, "outputs": ["sum"]},
    {"op": "aten.relu", "args": {"self": "%sum"}, "outputs": ["y"]}
  ]
})";

std::string Read(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Folder() {
  const char* source = std::getenv("HONE_SOURCE");
  return std::string(source ? source : ".") + "/tests/data/hostile/";
}

Candidate Module(std::string text) { return {.kind = CandidateKind::kModule, .text = std::move(text)}; }

// A module that brings all that it needs, and one before which the honest computation is pasted.
Candidate Whole(const std::string& name) { return Module(Read(Folder() + name + ".cc")); }
Candidate Hostile(const std::string& name) {
  return Module(Read(Folder() + "compute.h") + Read(Folder() + name + ".cc"));
}

EvaluatorOptions Options() {
  EvaluatorOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "evaluate_processes";
  options.threads = 2;
  options.call_wall = milliseconds(1500);
  return options;
}

Problem SmallProblem() {
  auto problem = ParseProblem(kProblem, "test");
  EXPECT_TRUE(problem);
  return *problem;
}

EvaluateRequest CheckOnly() { return {.time = false}; }
EvaluateRequest Timed(int budget_ms = 200) { return {.time = true, .timing_budget = milliseconds(budget_ms)}; }

// One evaluator for all tests of this file: draws and oracle are made once, as in a run.
Evaluator& Shared() {
  static std::unique_ptr<Evaluator> evaluator = [] {
    if (!BubblewrapWorks()) std::cerr << "bubblewrap does not work here: only seccomp and limits hold the candidates\n";
    auto started = StartEvaluator(SmallProblem(), Options());
    EXPECT_TRUE(started) << started.error().message;
    return std::move(*started);
  }();
  return *evaluator;
}

// On a machine that others keep busy there is no ratio.
void ExpectRatioOrReason(const Comparison& comparison) {
  EXPECT_EQ(comparison.speedup.has_value(), comparison.disturbed.empty()) << comparison.disturbed;
  if (!comparison.speedup) return;
  EXPECT_GT(*comparison.speedup, 0);
  // Of fewer than six rounds there is none; of a kept baseline, where both sides had six samples.
  if (comparison.rounds > 0) {
    EXPECT_EQ(comparison.interval.has_value(), comparison.rounds >= 6);
  } else if (comparison.interval) {
    EXPECT_TRUE(comparison.baseline_warm.interval);
  }
}

// Where several share a device: what needs none is done before it is asked for.
TEST(LocalEvaluatorTest, ADeviceIsTakenOnceBeforeTheJudgeOpensIt) {
  EvaluatorOptions options = Options();
  int taken = 0;
  std::vector<std::string> stages;
  options.take_device = [&]() -> Result<void> {
    ++taken;
    EXPECT_EQ(std::count(stages.begin(), stages.end(), "compiling the oracle"), 0) << "the judge opens nothing before";
    return {};
  };
  options.stage = [&](std::string_view stage) { stages.emplace_back(stage); };
  auto started = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(started) << started.error().message;
  Evaluator& evaluator = **started;
  EXPECT_EQ(taken, 0);
  ASSERT_TRUE(evaluator.GetReady(Whole("honest")));
  EXPECT_EQ(taken, 1);
  const auto evaluation = evaluator.Evaluate(Whole("honest"), CheckOnly());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
  EXPECT_TRUE(evaluation->how->stages.compile_cached);
  EXPECT_EQ(taken, 1);

  auto other = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(other);
  stages.clear();
  EXPECT_TRUE((*other)->Evaluate(Whole("honest"), CheckOnly())) << "who was not told to get ready does so then";
  EXPECT_EQ(taken, 2);
}

TEST(LocalEvaluatorTest, ADeviceThatIsWantedIsLeftWhileSomethingTakesLongToCompile) {
  EvaluatorOptions options = Options();
  std::vector<std::string> happened;
  bool wanted = false;
  options.take_device = [&]() -> Result<void> {
    happened.emplace_back("take");
    std::this_thread::sleep_for(milliseconds(300));
    return {};
  };
  options.device_wanted = [&] { return wanted; };
  std::atomic<int> left = 0, slow = 0;
  options.leave_device = [&] {
    happened.emplace_back("leave");
    ++left;
  };
  options.lower = [&](const Candidate& candidate) -> Result<std::variant<Candidate, Verdict>> {
    if (candidate.text != "slow") return Whole("honest");
    // The second time until the device is left, for twice what opening took.
    const bool second = ++slow == 2;
    for (int i = 0; i < (second ? 3000 : 120) && left == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
    return Whole("honest");
  };
  const auto started = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(started) << started.error().message;
  Evaluator& evaluator = **started;
  const auto accepted = [&](const std::string& text) {
    const auto evaluation = evaluator.Evaluate({CandidateKind::kProgram, text}, CheckOnly());
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_TRUE(evaluation && evaluation->verdict.accepted());
    return evaluation ? evaluation->how->stages.total_ms : 0;
  };
  accepted("quick");
  accepted("slow");
  EXPECT_EQ(happened, std::vector<std::string>{"take"}) << "nobody wants it";
  wanted = true;
  accepted("quick");
  EXPECT_EQ(happened, std::vector<std::string>{"take"}) << "there is something to judge";
  const auto begun = std::chrono::steady_clock::now();
  const double total_ms = accepted("slow");
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(happened, (std::vector<std::string>{"take", "leave", "take"}));
  EXPECT_LE(total_ms, took.count() - 290) << "nobody's time is what it waits for the device";
  evaluator.Rest();
  EXPECT_EQ(happened.size(), 3u) << "it was asked just now";
  for (int i = 0; i < 3000 && happened.size() < 4; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    evaluator.Rest();
  }
  evaluator.Rest();
  EXPECT_EQ(happened, (std::vector<std::string>{"take", "leave", "take", "leave"}));
  accepted("quick");
  EXPECT_EQ(happened.size(), 5u);
}

TEST(LocalEvaluatorTest, WhatIsForeseenIsCompiledOnceTheOracleIs) {
  EvaluatorOptions options = Options();
  options.take_device = []() -> Result<void> { return {}; };
  options.jobs = 1;
  std::mutex mutex;
  std::vector<std::string> lowered;
  options.lower = [&](const Candidate& candidate) -> Result<std::variant<Candidate, Verdict>> {
    const std::lock_guard<std::mutex> lock(mutex);
    lowered.push_back(candidate.text);
    return Whole("honest");
  };
  const auto seen = [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return lowered;
  };
  const auto started = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(started) << started.error().message;
  (*started)->Foresee({{CandidateKind::kProgram, "later"}});
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_TRUE(seen().empty());
  ASSERT_TRUE((*started)->GetReady({CandidateKind::kProgram, "first"}));
  for (int i = 0; i < 1000 && seen().size() < 2; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(seen(), (std::vector<std::string>{"first", "later"}));
}

TEST(LocalEvaluatorTest, WhoseDeviceIsNotToBeHadAsksForItAgainTheNextTime) {
  EvaluatorOptions options = Options();
  int asked = 0;
  options.take_device = [&]() -> Result<void> {
    if (++asked == 1) return Fail(ErrorKind::kInterrupted, "interrupted");
    return {};
  };
  const auto started = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(started);
  const auto failed = (*started)->GetReady(Whole("honest"));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::kInterrupted);
  const auto evaluation = (*started)->Evaluate(Whole("honest"), CheckOnly());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_TRUE(evaluation->verdict.accepted());
  EXPECT_EQ(asked, 2);
}

TEST(LocalEvaluatorTest, AnHonestModuleIsAcceptedAndTimedBesideTheNaiveBaseline) {
  const auto evaluation = Shared().Evaluate(Whole("honest"), Timed());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
  EXPECT_LE(evaluation->verdict.error_over_budget, 1);
  EXPECT_EQ(evaluation->verdict.range, "componentwise");
  EXPECT_TRUE(evaluation->verdict.bit_reproducible);
  EXPECT_EQ(evaluation->verdict.official_allclose, true);
  EXPECT_EQ(evaluation->how->sandbox, BubblewrapWorks() ? "bubblewrap + seccomp" : "seccomp");
  ASSERT_TRUE(evaluation->timing);
  const Timing& timing = *evaluation->timing;
  EXPECT_GT(timing.warm.median_us, 0.5);
  ASSERT_TRUE(timing.warm.interval);
  EXPECT_LE(timing.warm.interval->low, timing.warm.median_us);
  EXPECT_GE(timing.warm.count, 5);
  EXPECT_GE(timing.cold.count, 5);
  ASSERT_EQ(timing.against.size(), 1u);
  EXPECT_EQ(timing.against[0].baseline, "naive");
  ExpectRatioOrReason(timing.against[0]);
  ASSERT_TRUE(timing.against[0].baseline_cold);
  EXPECT_GT(timing.against[0].baseline_cold->median_us, 0);
}

TEST(LocalEvaluatorTest, StagesBeginOneBehindTheOther) {
  const std::int64_t before = UnixMilliseconds();
  const auto evaluation = Shared().Evaluate(Whole("honest"), Timed());
  const std::int64_t after = UnixMilliseconds();
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  const StageTimes& stages = evaluation->how->stages;
  const auto ended = [](std::int64_t begun_ms, double took_ms) {
    return begun_ms + static_cast<std::int64_t>(took_ms);
  };
  EXPECT_GE(stages.compile_begun_ms, before);
  // Whole milliseconds of one clock beside parts of another's.
  EXPECT_GE(stages.check_begun_ms + 2, ended(stages.compile_begun_ms, stages.compile_ms));
  EXPECT_GE(stages.timing_begun_ms + 2, ended(stages.check_begun_ms, stages.check_ms));
  EXPECT_LE(ended(stages.timing_begun_ms, stages.timing_ms), after + 2);
}

struct Row {
  const char* file;
  Outcome outcome;
  const char* words;  // that the reason contains
  bool time = false;  // only the timing shows it
  bool whole = false;
};

constexpr Row kRows[] = {
    {"returns_zeros", Outcome::kWrongResult, "all of them 0"},
    {"writes_nothing", Outcome::kWrongResult, "never written"},
    {"copies_input", Outcome::kWrongResult, "a copy of input 'x'"},
    {"skips_tile", Outcome::kWrongResult, "1000 of 64000 elements of 'y' were never written"},
    {"caches_first_output", Outcome::kWrongResult, "the outputs of an earlier call (inputs: seed 1)"},
    {"stale_parameters", Outcome::kWrongResult, "inputs: seed 2"},
    {"writes_nan", Outcome::kNonfinite, "y[12, 345] is nan"},
    {"writes_past_end", Outcome::kOutOfBounds, "wrote 1 bytes past the end of output 'y' (4 bytes in all)"},
    {"writes_before_start", Outcome::kOutOfBounds, "wrote 1 bytes before the start of output 'y' (4 bytes in all)"},
    {"writes_far_past_end", Outcome::kOutOfBounds, "past the end of output 'y'"},
    {"reads_past_end", Outcome::kNonfinite, "y[63, 999] is nan"},
    {"modifies_inputs", Outcome::kInputModified, "wrote to input 'x' at byte 28"},
    {"infinite_loop", Outcome::kTimeout, "1.5 s"},
    {"infinite_loop_at_load", Outcome::kTimeout, "1.5 s"},
    {"fork_bomb", Outcome::kSuspicious, "called clone"},
    {"aborts", Outcome::kCrash, "SIGABRT: tile size 48 is not a power of two"},
    {"exits", Outcome::kCrash, "exited with status 0 before returning"},
    {"crashes", Outcome::kCrash, "SIGSEGV"},
    {"throws", Outcome::kLaunchError, "no kernel for 1000 columns"},
    {"returns_error", Outcome::kLaunchError, "hone_run returned 7"},
    {"allocates_without_end", Outcome::kOutOfMemory, "std::bad_alloc"},
    {"mallocs_without_end", Outcome::kOutOfMemory, "memory used up"},
    {"opens_socket", Outcome::kSuspicious, "called socket"},
    {"reads_file", Outcome::kSuspicious, "openat of /etc/passwd"},
    {"reads_file_at_load", Outcome::kSuspicious, "openat of /etc/passwd"},
    {"writes_file", Outcome::kSuspicious, "openat of /tmp/left-behind"},
    {"runs_program", Outcome::kSuspicious, "called execve"},
    {"hides_faults", Outcome::kSuspicious, "called rt_sigaction"},
    {"forges_answer", Outcome::kSuspicious, "that the worker did not send"},
    {"works_after_return", Outcome::kSuspicious, "returned"},
    {"works_after_return_quickly", Outcome::kSuspicious, "went on computing after hone_run had returned"},
    {"keeps_burning", Outcome::kSuspicious, "went on computing after hone_run had returned"},
    {"races", Outcome::kNondeterministic, "right once and wrong once"},
    {"right_at_first", Outcome::kWrongResult, "right in its first calls only"},
    {"right_at_first_long", Outcome::kWrongResult, "tim", true},  // in a timed call, or after the timing
    {"wrong_after_timing", Outcome::kWrongResult, "no longer right after the timing", true},
    {"caches_by_fingerprint", Outcome::kWrongResult, "a timed call was wrong", true},
    {"forges_a_fault", Outcome::kSuspicious, "that the worker did not send"},
    {"slows_clock", Outcome::kSuspicious, "the clock inside says", true},
    {"no_entry", Outcome::kInvalid, "hone_run"},
    {"wrong_version", Outcome::kInvalid, "hone_abi_version() is 99, not 1", false, true},
    {"does_not_compile", Outcome::kCompileError, "expected ';' before '}'"},
};

class HostileTest : public testing::TestWithParam<Row> {};

TEST_P(HostileTest, IsRefusedForTheRightReasonAndTheNextIsUnharmed) {
  const Row& row = GetParam();
#ifdef HONE_SANITIZED
  if (row.outcome == Outcome::kOutOfMemory) GTEST_SKIP() << "a sanitizer cannot live under a limit of addresses";
  if (row.file == std::string_view("exits")) GTEST_SKIP() << "a sanitizer does at exit what a candidate may not";
#endif
#ifdef __SANITIZE_THREAD__  // a worker under it starts threads and copies memory many times slower than others
  for (const std::string_view file : {"works_after_return", "works_after_return_quickly", "caches_by_fingerprint"}) {
    if (row.file == file) GTEST_SKIP() << "what shows in the times of a worker does not under ThreadSanitizer";
  }
#endif
  const auto candidate = row.whole ? Whole(row.file) : Hostile(row.file);
  const auto evaluation = Shared().Evaluate(candidate, row.time ? Timed(600) : CheckOnly());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(Name(evaluation->verdict.outcome), Name(row.outcome)) << evaluation->verdict.reason;
  EXPECT_NE(evaluation->verdict.reason.find(row.words), std::string::npos) << evaluation->verdict.reason;
  EXPECT_FALSE(evaluation->timing);
  const auto next = Shared().Evaluate(Whole("honest"), CheckOnly());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_TRUE(next->verdict.accepted()) << next->verdict.reason;
}

INSTANTIATE_TEST_SUITE_P(Modules, HostileTest, testing::ValuesIn(kRows),
                         [](const auto& one) { return std::string(one.param.file); });

TEST(LocalEvaluatorTest, AClockOfTheModulesOwnChangesNothing) {
  const auto evaluation = Shared().Evaluate(Hostile("exports_clock"), Timed());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  ASSERT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
  EXPECT_GT(evaluation->timing->warm.median_us, 0.5);
}

TEST(LocalEvaluatorTest, ComputingOnlyWhatChangedGainsNothing) {
  const Candidate cheat = Hostile("computes_what_changed"), honest = Module("#define HONEST\n" + cheat.text);
  const auto of_honest = Shared().Evaluate(honest, Timed()), of_cheat = Shared().Evaluate(cheat, Timed(600));
  ASSERT_TRUE(of_cheat && of_honest);
  ASSERT_TRUE(of_honest->timing) << of_honest->verdict.reason;
  if (of_cheat->timing) {  // the machine is too busy to tell its two times apart
    EXPECT_GT(of_cheat->timing->warm.median_us, 0.7 * of_honest->timing->warm.median_us);
    EXPECT_GT(of_cheat->timing->cold.median_us, 0.7 * of_honest->timing->cold.median_us);
  } else {
    EXPECT_EQ(of_cheat->verdict.outcome, Outcome::kSuspicious);
    EXPECT_NE(of_cheat->verdict.reason.find("it computes only what changed"), std::string::npos)
        << of_cheat->verdict.reason;
  }
}

// Its slots are so small that there are many, and its calls so short that one that is not timed comes before each.
TEST(LocalEvaluatorTest, WhatIsTimedIsNotThereBeforeTheClockStarts) {
  std::string text = kProblem;
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"[64, 1000]", "[16, 100]"}, {"[1000]", "[100]"}}) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) text.replace(at, from.size(), to);
  }
  const auto problem = ParseProblem(text, "test");
  ASSERT_TRUE(problem) << problem.error().message;
  auto evaluator = StartEvaluator(*problem, Options());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const Candidate cheat = Hostile("computes_in_rehearsal"), honest = Module("#define HONEST\n" + cheat.text);
  const auto before = (*evaluator)->Evaluate(honest, Timed()), of_cheat = (*evaluator)->Evaluate(cheat, Timed()),
             after = (*evaluator)->Evaluate(honest, Timed());
  ASSERT_TRUE(before && of_cheat && after);
  ASSERT_TRUE(before->timing && after->timing) << before->verdict.reason << after->verdict.reason;
  ASSERT_TRUE(of_cheat->timing) << of_cheat->verdict.reason;
  // It would be a hundredth. A busy machine makes a median twice, undisturbed calls half as long again.
  EXPECT_GT(of_cheat->timing->warm.median_us, 0.5 * std::min(before->timing->warm.p10_us, after->timing->warm.p10_us));
}

TEST(LocalEvaluatorTest, ATimedCallIsHeldAgainstTheOracleElementByElement) {
  const auto problem = ParseProblem(R"({
  "hone_problem": 1, "name": "exponentials", "contract": "fp32",
  "tensors": [
    {"name": "x", "shape": [64, 1000], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 6}},
    {"name": "y", "shape": [64, 1000], "dtype": "f32", "role": "output"}
  ],
  "graph": [{"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["y"]}]
})",
                                    "test");
  ASSERT_TRUE(problem) << problem.error().message;
  auto evaluator = StartEvaluator(*problem, Options());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto evaluation = (*evaluator)->Evaluate(Whole("leaves_out_small_outputs"), Timed());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict.outcome, Outcome::kWrongResult);
  EXPECT_NE(evaluation->verdict.reason.find("a timed call was wrong: y["), std::string::npos)
      << evaluation->verdict.reason;
}

TEST(LocalEvaluatorTest, NobodyKnowsTheInputsButWhoHasTheDice) {
  const auto inputs = [](const std::string& dice, std::string* rolled = nullptr) {
    EvaluatorOptions options = Options();
    options.dice = dice;
    auto evaluator = StartEvaluator(SmallProblem(), options);
    EXPECT_TRUE(evaluator) << evaluator.error().message;
    const auto evaluation = (*evaluator)->Evaluate(Hostile("says_its_inputs"), CheckOnly());
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    if (rolled) *rolled = evaluation->how->dice;
    return evaluation->verdict.evidence->log;
  };
  std::string dice;
  const std::string first = inputs("", &dice);
  EXPECT_FALSE(first.empty());
  EXPECT_NE(inputs(""), first);
  EXPECT_EQ(inputs(dice), first);
  EvaluatorOptions loaded = Options();
  loaded.dice = "six";
  const auto refused = StartEvaluator(SmallProblem(), loaded);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
}

TEST(LocalEvaluatorTest, FasterThanTheBoundIsSuspicious) {
  EvaluateRequest request = Timed(100);
  request.bound_us = 1e6;
  const auto evaluation = Shared().Evaluate(Whole("honest"), request);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict.outcome, Outcome::kSuspicious);
  EXPECT_NE(evaluation->verdict.reason.find("faster than this machine can"), std::string::npos)
      << evaluation->verdict.reason;
}

TEST(LocalEvaluatorTest, FreshDrawsAreOtherInputs) {
  EvaluateRequest request = CheckOnly();
  request.fresh_draws = true;
  const auto evaluation = Shared().Evaluate(Whole("honest"), request);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
}

TEST(LocalEvaluatorTest, WithoutBubblewrapSeccompStillRefuses) {
  EvaluatorOptions options = Options();
  options.sandbox = SandboxPolicy::kProcess;
  auto evaluator = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  for (const auto& [file, outcome] : {std::pair{"reads_file", Outcome::kSuspicious},
                                      {"fork_bomb", Outcome::kSuspicious},
                                      {"infinite_loop", Outcome::kTimeout},
                                      {"crashes", Outcome::kCrash}}) {
    const auto evaluation = (*evaluator)->Evaluate(Hostile(file), CheckOnly());
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_EQ(Name(evaluation->verdict.outcome), Name(outcome)) << file << ": " << evaluation->verdict.reason;
    EXPECT_EQ(evaluation->how->sandbox, "seccomp");
  }
  const auto honest = (*evaluator)->Evaluate(Whole("honest"), CheckOnly());
  ASSERT_TRUE(honest);
  EXPECT_TRUE(honest->verdict.accepted()) << honest->verdict.reason;
}

TEST(LocalEvaluatorTest, AProgramGoesThroughTheLowering) {
  EvaluatorOptions options = Options();
  options.lower = [](const Candidate& candidate) -> Result<std::variant<Candidate, Verdict>> {
    if (candidate.text == "honest") return Whole("honest");
    Verdict verdict;
    verdict.outcome = Outcome::kInvalid;
    verdict.reason = "line 1: no such family";
    return verdict;
  };
  auto evaluator = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto good = (*evaluator)->Evaluate({.kind = CandidateKind::kProgram, .text = "honest"}, CheckOnly());
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_TRUE(good->verdict.accepted()) << good->verdict.reason;
  const auto bad = (*evaluator)->Evaluate({.kind = CandidateKind::kProgram, .text = "magic"}, CheckOnly());
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->verdict.outcome, Outcome::kInvalid);
  EXPECT_EQ(bad->verdict.reason, "line 1: no such family");
}

TEST(LocalEvaluatorTest, ABaselineMayBeAProgramOfItsOwn) {
  EvaluatorOptions options = Options();
  // Answers every question with three times of 5 ms.
  options.outside.push_back(
      {.name = "slowpoke",
       .argv = {"/bin/sh", "-c", "while read line; do echo '{\"ns\": [5000000, 5000000, 5000000]}'; done"},
       .environment = {},
       .directory = ""});
  options.outside.push_back({.name = "broken",
                             .argv = {"/bin/sh", "-c", "echo '{\"error\": \"torch 1.13 has no torch.compile\"}'"},
                             .environment = {},
                             .directory = ""});
  auto evaluator = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EvaluateRequest request = Timed(100);
  request.baselines = {"naive", "slowpoke"};
  const auto evaluation = (*evaluator)->Evaluate(Whole("honest"), request);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  ASSERT_TRUE(evaluation->timing) << evaluation->verdict.reason;
  ASSERT_EQ(evaluation->timing->against.size(), 2u);
  EXPECT_EQ(evaluation->timing->against[1].baseline_warm.median_us, 5000);
  ExpectRatioOrReason(evaluation->timing->against[1]);
  EXPECT_TRUE(evaluation->how->notes.empty()) << evaluation->how->notes[0];
  request.baselines = {"naive", "broken"};
  const auto without = (*evaluator)->Evaluate(Whole("honest"), request);
  ASSERT_TRUE(without) << without.error().message;
  ASSERT_TRUE(without->timing) << without->verdict.reason;
  EXPECT_EQ(without->timing->against.size(), 1u);
  ASSERT_EQ(without->how->notes.size(), 1u);
  EXPECT_EQ(without->how->notes[0], "baseline 'broken': torch 1.13 has no torch.compile");
  request.baselines = {"eager"};
  const auto unknown = (*evaluator)->Evaluate(Whole("honest"), request);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
}

TEST(LocalEvaluatorTest, ABaselineThatNothingHoldsIsSaidEachTime) {
  if (!CanConfine()) GTEST_SKIP() << "bubblewrap is absent or may not make a sandbox here";
  const auto folder = TempDirectory::Create("unconfined");  // in /tmp, which a sandbox does not see
  ASSERT_TRUE(folder);
  EvaluatorOptions options = Options();
  options.outside.push_back(
      {.name = "eager",
       .mode = {},
       .argv = {"/bin/sh", "-c",
                "test -e " + folder->path() +
                    " && echo '{\"device\": true}' || echo '{\"device\": false}'; while read line; "
                    "do echo '{\"ns\": [5000000]}'; done"},
       .environment = {},
       .directory = "",
       .files = {"/bin/sh"},
       .device = true});
  auto evaluator = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EvaluateRequest request = Timed(100);
  request.baselines = {"eager"};
  for (int time = 0; time < 2; ++time) {
    const auto evaluation = (*evaluator)->Evaluate(Whole("honest"), request);
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    ASSERT_EQ(evaluation->how->notes.size(), 1u);
    EXPECT_EQ(evaluation->how->notes[0], "baselines: " + std::string(kNotConfined));
  }
}

// Answers every question with a time that its mode says, and writes down that it was started.
OutsideBaseline Modal(const std::string& mode, const std::string& starts) {
  return {
      .name = mode,
      .mode = mode,
      .argv = {"/bin/sh", "-c",
               "echo started >> " + starts +
                   "; while read line; do case \"$line\" in *slow*) echo '{\"ns\": [5000000]}';; *broken*) echo "
                   "'{\"error\": \"no such mode\", \"goes_on\": true}';; *) echo '{\"ns\": [3000000]}';; esac; done"},
      .environment = {},
      .directory = ""};
}

TEST(LocalEvaluatorTest, OneProcessServesTheModesOfABaseline) {
  const auto folder = TempDirectory::Create("modes");
  ASSERT_TRUE(folder);
  EvaluatorOptions options = Options();
  for (const char* mode : {"slow", "broken", "fast"})
    options.outside.push_back(Modal(mode, folder->path() + "/starts"));
  auto evaluator = StartEvaluator(SmallProblem(), options);
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  EvaluateRequest request = Timed(100);
  request.baselines = {"slow", "broken", "fast"};
  const auto evaluation = (*evaluator)->Evaluate(Whole("honest"), request);
  ASSERT_TRUE(evaluation && evaluation->timing);
  ASSERT_EQ(evaluation->timing->against.size(), 2u);
  EXPECT_EQ(evaluation->timing->against[0].baseline_warm.median_us, 5000);
  EXPECT_EQ(evaluation->timing->against[1].baseline_warm.median_us, 3000);
  ASSERT_EQ(evaluation->how->notes.size(), 1u);
  EXPECT_EQ(evaluation->how->notes[0], "baseline 'broken': no such mode");
  EXPECT_EQ(*ReadFile(folder->path() + "/starts"), "started\n");
}

TEST(LocalEvaluatorTest, AKeptBaselineIsMeasuredAgainOnlyInTurn) {
  const auto folder = TempDirectory::Create("kept");
  ASSERT_TRUE(folder);
  EvaluatorOptions options = Options();
  options.outside.push_back(Modal("fast", folder->path() + "/starts"));
  options.kept_baselines = folder->path() + "/kept.json";
  options.kept_about = R"({"problem": "small"})";
  EvaluateRequest request = Timed(100);
  request.baselines = {"naive", "fast"};
  for (const int round : {0, 1, 2}) {
    auto evaluator = StartEvaluator(SmallProblem(), options);
    ASSERT_TRUE(evaluator) << evaluator.error().message;
    request.in_turn = round == 2 ? request.baselines : std::vector<std::string>();
    const auto evaluation = (*evaluator)->Evaluate(Whole("honest"), request);
    ASSERT_TRUE(evaluation && evaluation->timing);
    ASSERT_EQ(evaluation->timing->against.size(), 2u);
    const Comparison& fast = evaluation->timing->against[1];
    EXPECT_EQ(fast.baseline, "fast");
    EXPECT_EQ(fast.baseline_warm.median_us, 3000);
    if (round == 0 && !fast.disturbed.empty()) GTEST_SKIP() << "nothing is kept here: " << fast.disturbed;
    EXPECT_EQ(fast.measured_on.empty(), round != 1);
    if (round == 1) {
      EXPECT_EQ(fast.rounds, 0);
    }
    ExpectRatioOrReason(fast);
  }
  EXPECT_EQ(*ReadFile(folder->path() + "/starts"), "started\nstarted\n");
}

TEST(LocalEvaluatorTest, AnInterruptEndsTheEvaluationWithinASecond) {
  std::thread interrupter([] {
    std::this_thread::sleep_for(milliseconds(400));
    Shared().Interrupt();
  });
  const auto begin = std::chrono::steady_clock::now();
  const auto evaluation =
      Shared().Evaluate(Whole("honest"), {.time = true, .timing_budget = milliseconds(20'000), .confidence = 0});
  const auto took = std::chrono::steady_clock::now() - begin;
  interrupter.join();
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().kind, ErrorKind::kInterrupted) << evaluation.error().message;
  EXPECT_LT(took, milliseconds(1400));
  const auto next = Shared().Evaluate(Whole("honest"), CheckOnly());
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_TRUE(next->verdict.accepted()) << next->verdict.reason;
}

// What hangs below this process: process ids of all descendants whose command line contains `words`.
std::vector<int> Descendants(const std::string& words) {
  std::map<int, int> parents;
  std::map<int, std::string> lines;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    if (pid == 0) continue;
    std::ifstream status(entry.path() / "stat"), command(entry.path() / "cmdline");
    std::string text, line((std::istreambuf_iterator<char>(command)), std::istreambuf_iterator<char>());
    std::getline(status, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= text.size()) continue;
    parents[pid] = std::atoi(text.c_str() + name_end + 4);
    std::replace(line.begin(), line.end(), '\0', ' ');
    lines[pid] = line;
  }
  std::vector<int> found;
  for (const auto& [pid, line] : lines) {
    if (line.find(words) == std::string::npos) continue;
    for (int up = pid; up > 1 && parents.count(up); up = parents[up]) {
      if (parents[up] == getpid()) {
        found.push_back(pid);
        break;
      }
    }
  }
  return found;
}

std::int64_t ResidentPages(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident;
}

std::ptrdiff_t OpenDescriptors(int pid) {
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/fd");
  return std::distance(begin(entries), end(entries));
}

TEST(LocalEvaluatorTest, AJudgeThatDiesIsReplaced) {
  auto evaluator = StartEvaluator(SmallProblem(), Options());
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  const auto before = Descendants("evaluate_processes judge");
  ASSERT_TRUE((*evaluator)->Evaluate(Whole("honest"), CheckOnly()));
  for (const int pid : before) kill(pid, SIGKILL);
  const auto evaluation = (*evaluator)->Evaluate(Whole("honest"), CheckOnly());
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
}

// HONE_EVALUATIONS says how many; the test with the label "slow" takes 1,000.
TEST(LeakTest, ManyEvaluationsLeaveNoProcessDescriptorOrMemoryBehind) {
  const char* wish = std::getenv("HONE_EVALUATIONS");
  const int count = wish ? std::atoi(wish) : 40;
  std::vector<double> check_ms;
  {
    auto evaluator = StartEvaluator(SmallProblem(), Options());
    ASSERT_TRUE(evaluator) << evaluator.error().message;
    const auto candidates = {Whole("honest"), Hostile("exits"), Hostile("skips_tile"), Hostile("crashes"),
                             Whole("honest")};
    const auto once = [&] {
      for (const auto& candidate : candidates) {
        const auto evaluation = (*evaluator)->Evaluate(candidate, CheckOnly());
        ASSERT_TRUE(evaluation) << evaluation.error().message;
        if (evaluation->verdict.accepted())
          check_ms.push_back(evaluation->how->stages.total_ms - evaluation->how->stages.compile_ms);
      }
    };
    for (int i = 0; i < 3; ++i) once();  // draws, caches and allocators are warm then
    const auto judges = Descendants("evaluate_processes judge");
    ASSERT_EQ(judges.size(), 1u);
    const int judge = judges[0];
    [[maybe_unused]] const auto own_pages = ResidentPages(getpid()), judge_pages = ResidentPages(judge);
    const auto own_open = OpenDescriptors(getpid()), judge_open = OpenDescriptors(judge);
    check_ms.clear();
    for (int i = 0; i < count / 5; ++i) once();
    EXPECT_EQ(Descendants("worker").size(), 0u);
    EXPECT_EQ(OpenDescriptors(getpid()), own_open);
    EXPECT_EQ(OpenDescriptors(judge), judge_open);
#ifndef HONE_SANITIZED                                    // AddressSanitizer keeps freed memory for a while
    EXPECT_LT(ResidentPages(getpid()) - own_pages, 512);  // 2 MiB
    EXPECT_LT(ResidentPages(judge) - judge_pages, 512);
#endif
  }
  EXPECT_EQ(Descendants("evaluate_processes").size(), 0u);
  std::sort(check_ms.begin(), check_ms.end());
  ASSERT_FALSE(check_ms.empty());
  std::cout << "evaluation beside compiling: median " << check_ms[check_ms.size() / 2] << " ms, best "
            << check_ms.front() << " ms, of " << check_ms.size() << " accepted\n";
}

}  // namespace
}  // namespace hone
