#include "search/bench.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>

#include "base/check.h"
#include "base/sha256.h"
#include "propose/random.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"
#include "search/testing/scripted_space.h"

namespace hone {

Result<SearchOutcome> RunScriptedSearch(Store& store, const std::string& strategy, std::uint64_t seed,
                                        const Budget& budget, Evaluator& evaluator, const SearchHooks& hooks) {
  return RunScriptedSearch(store, strategy, seed, budget, std::vector<Evaluator*>{&evaluator}, hooks);
}

Result<SearchOutcome> RunScriptedSearch(Store& store, const std::string& strategy, std::uint64_t seed,
                                        const Budget& budget, const std::vector<Evaluator*>& evaluators,
                                        const SearchHooks& hooks) {
  testing::ScriptedProposer proposer;
  return RunScriptedSearch(store,
                           {.seed = seed,
                            .search = HONE_TRY(ChooseStrategy(strategy)).Identity(),
                            .proposer = "scripted",
                            .lanes = static_cast<int>(evaluators.size())},
                           budget, proposer, evaluators, hooks);
}

Result<SearchOutcome> RunScriptedSearch(Store& store, const RunSettings& run, const Budget& budget, Proposer& proposer,
                                        const std::vector<Evaluator*>& evaluators, const SearchHooks& hooks) {
  // So short a piece that short runs have a journal, too.
  constexpr int kJournalEvery = 7;
  return RunScriptedSearch(store, {.run = run, .budget = budget, .journal_every = kJournalEvery}, proposer, evaluators,
                           hooks);
}

Result<SearchOutcome> RunScriptedSearch(Store& store, const SearchSettings& settings, Proposer& proposer,
                                        const std::vector<Evaluator*>& evaluators, const SearchHooks& hooks) {
  RunRecord wanted;
  wanted.problem_name = "scripted space";
  wanted.problem_identity = Sha256(wanted.problem_name);
  wanted.target = "scripted";
  wanted.machine = "none";
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(settings.budget);
  wanted.bound_us = static_cast<double>(testing::ScriptedOptimumNanoseconds()) / 1000;
  OpenedRun opened = HONE_TRY(OpenRun(store, wanted, "{\"scripted\": true}\n"));
  return RunSearch(store, std::move(opened.record), proposer, evaluators, settings, hooks);
}

Result<Bench> RunBench(const BenchSettings& settings) {
  Bench bench;
  std::string signatures;
  const std::int64_t optimum = testing::ScriptedOptimumNanoseconds();
  for (const StrategyRow* strategy : AllStrategies()) {
    for (const std::uint64_t seed : settings.seeds) {
      Store store = HONE_TRY(Store::Open(":memory:"));
      testing::ScriptedEvaluator evaluator(seed);
      const auto begun = std::chrono::steady_clock::now();
      const SearchOutcome outcome =
          HONE_TRY(RunScriptedSearch(store, std::string(strategy->name), seed,
                                     {.attempts = settings.attempts, .seconds = 0, .headroom = -1}, evaluator));
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
      BenchRow& row = bench.rows.emplace_back();
      row.strategy = strategy->name;
      row.seed = seed;
      row.attempts = outcome.tree.attempts();
      row.evaluate_us = took.count() / std::max(1, row.attempts);
      for (const TreeNode& node : outcome.tree.nodes()) row.accepted += node.attempt.accepted() ? 1 : 0;
      for (const Confirmed& confirmed : outcome.confirmed) {
        if (confirmed.attempt != outcome.run.best_attempt) continue;
        row.best_us = confirmed.evaluation.timing->warm.median_us;
        const auto point =
            testing::ScriptedPoint::Parse(outcome.tree.node(confirmed.attempt).attempt.proposal.candidate.text);
        row.over_optimum = static_cast<double>(point->Nanoseconds()) / static_cast<double>(optimum);
      }
      row.signature = outcome.tree.Signature();
      signatures += row.strategy + ' ' + std::to_string(seed) + ' ' + row.signature + '\n';
    }
  }
  bench.signature = Sha256(signatures).substr(0, 12);
  return bench;
}

namespace {

// What this process has on its heap, in bytes.
double MemoryInUse() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks) + static_cast<double>(heap.hblkhd);
}

// What this thread, or the process, has had of processors: whoever else is at work is not counted.
double ProcessorUs(clockid_t of) {
  timespec time{};
  clock_gettime(of, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}
double ThreadUs() { return ProcessorUs(CLOCK_THREAD_CPUTIME_ID); }

constexpr int kMoves = 4;

// Each attempt has kMoves moves, variants of its text.
class MovesOnce final : public Proposer {
 public:
  Result<Round> Propose(const Question& question) override {
    Round round;
    for (int i = 0; i < kMoves && question.turn == 0; ++i) {
      round.proposals.push_back({.candidate = {CandidateKind::kProgram, Text(question.parent, i)},
                                 .origin = fmt::format("bench: move {}", i),
                                 .key = fmt::format("move {}", Random(question.random).Below(1000))});
    }
    return round;
  }

 private:
  // As long as a program of a few statements.
  static std::string Text(int parent, int move) {
    const std::string half(250, '#');
    return fmt::format("{}\n{}.{}\n{}", half, parent, move, half);
  }
};

// Accepts all, in a time that follows from the text, and says as much about it as a judge does.
class EverythingAccepted final : public Evaluator {
 public:
  Result<Evaluation> Evaluate(const Candidate& candidate, const EvaluateRequest&) override {
    Random random(std::hash<std::string>()(candidate.text));
    Evaluation evaluation;
    evaluation.verdict.outcome = Outcome::kAccepted;
    evaluation.verdict.range = "componentwise";
    evaluation.verdict.error_over_budget = random.Uniform();
    evaluation.how->sandbox = "bubblewrap + seccomp";
    evaluation.how->dice = "the kernel's random numbers";
    evaluation.how->stages = {.compile_ms = 900, .check_ms = 30, .timing_ms = 200, .total_ms = 1130};
    Timing timing;
    timing.warm = Around(1000 * (0.5 + random.Uniform()));
    timing.cold = Around(1.3 * timing.warm.median_us);
    Comparison& naive = timing.against.emplace_back();
    naive.baseline = "naive";
    naive.baseline_warm = Around(3000);
    naive.speedup = 3000 / timing.warm.median_us;
    naive.rounds = 12;
    evaluation.timing = std::move(timing);
    return evaluation;
  }
  void Interrupt() override {}

 private:
  static Samples Around(double us) {
    return {.median_us = us, .interval = Interval{0.99 * us, 1.01 * us}, .p10_us = us, .p90_us = us, .count = 100};
  }
};

}  // namespace

Result<ResumeBench> RunResumeBench(const std::string& strategy, int attempts) {
  using Clock = std::chrono::steady_clock;
  Store store = HONE_TRY(Store::Open(":memory:"));
  MovesOnce proposer;
  EverythingAccepted evaluator;
  const std::vector<Evaluator*> evaluators = {&evaluator};
  SearchSettings settings{.run = {.search = HONE_TRY(ChooseStrategy(strategy)).Identity(), .proposer = "bench"},
                          .budget = {.attempts = attempts, .seconds = 0, .headroom = -1}};
  settings.confirm_candidates = 0;
  const auto seconds = [&]() -> Result<double> {
    const auto begun = Clock::now();
    const SearchOutcome outcome = HONE_TRY(RunScriptedSearch(store, settings, proposer, evaluators));
    if (outcome.tree.attempts() < attempts) {
      return Fail(ErrorKind::kUsage, fmt::format("{} ends after {} attempts of a made-up run: {}", strategy,
                                                 outcome.tree.attempts(), outcome.stop.reason));
    }
    HONE_CHECK(!outcome.diverged, "a run decided differently when it was taken up again");
    return std::chrono::duration<double>(Clock::now() - begun).count();
  };
  ResumeBench bench;
  bench.made_s = HONE_TRY(seconds());
  const double before_us = ProcessorUs(CLOCK_PROCESS_CPUTIME_ID);
  bench.resumed_s = HONE_TRY(seconds());
  bench.resumed_cpu_s = (ProcessorUs(CLOCK_PROCESS_CPUTIME_ID) - before_us) / 1e6;
  const std::string run = HONE_TRY(store.Runs()).front().id;
  for (const JournalRecord& piece : HONE_TRY(store.Journal(run)))
    bench.journal_bytes += static_cast<double>(HONE_TRY(store.JournalBytes(run, piece.attempts)).size()) / attempts;
  return bench;
}

Result<TreeBench> RunTreeBench(const std::string& strategy, int attempts) {
  const auto chosen = HONE_TRY(ChooseStrategy(strategy));
  const std::unique_ptr<Strategy> grower = chosen.row->make(chosen.parameters);
  TreeBench bench;
  const double before = MemoryInUse();
  Tree tree;
  Random random(1);
  const int last = attempts - std::max(1, attempts / 10);
  double selecting = 0, backing_up = 0;
  while (tree.attempts() < attempts) {
    const auto begun = ThreadUs();
    const std::optional<int> number = grower->SelectNode(tree, random);
    if (!number)
      return Fail(ErrorKind::kUsage, fmt::format("{} ends after {} attempts of a made-up tree, where {}", strategy,
                                                 tree.attempts(), grower->Ending(tree)));
    const TreeNode& node = tree.node(*number);
    if (node.waiting.empty()) {
      std::vector<Proposal> moves;
      for (int i = 0; i < kMoves && node.rounds == 0; ++i) {
        moves.push_back({.candidate = {CandidateKind::kProgram, fmt::format("{}.{}", *number, i)},
                         .key = fmt::format("move {}", random.Below(1000))});
      }
      tree.AddProposals(*number, 1, moves);
      continue;
    }
    Attempt attempt{.number = tree.attempts() + 1, .parent = *number};
    attempt.proposal = node.Offered(node.waiting[grower->SelectProposal(node, random)]);
    const auto selected = ThreadUs();
    attempt.evaluation.verdict.outcome = Outcome::kAccepted;
    attempt.evaluation.timing = Timing{.warm = {.median_us = 1000 * (0.5 + random.Uniform())}};
    const auto tried = ThreadUs();
    tree.Begin(attempt);
    tree.AddAttempt(std::move(attempt));
    grower->BackUp(tree);
    if (tree.attempts() <= last) continue;
    selecting += selected - begun;
    backing_up += ThreadUs() - tried;
  }
  bench.select_us = selecting / (attempts - last);
  bench.back_up_us = backing_up / (attempts - last);
  bench.node_bytes = (MemoryInUse() - before) / attempts;
  return bench;
}

}  // namespace hone
