// hone compare: search strategies and budgets side by side, over recorded tables, or live on the processor.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command/command.h"
#include "command/workbench.h"
#include "propose/joint.h"
#include "propose/proposer.h"
#include "search/comparison.h"
#include "search/loop.h"
#include "search/table.h"
#include "store/store.h"

namespace hone::verb_compare {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {
    {.name = "arm",
     .help = "a strategy, with a budget of its own if it has one: greedy, mcts:memory=0, 'greedy --headroom 0.1'",
     .presence = Presence::kRepeated}};
constexpr Option kOptions[] = {
    {.name = "suite",
     .value = "PATH",
     .help = "a table of `hone record`, or a folder of them (*.jsonl); or a problem (.py, .json), or a folder of such",
     .reads = true},
    {.name = "seeds",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "use the seeds 1 to N",
     .otherwise = "20",
     .at_least = 1},
    {.name = "learn",
     .value = "PATH",
     .help = "tables, or a folder of them: what was tried there is what arms with --memory on begin with",
     .reads = true},
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "attempts of each search",
     .otherwise = "40",
     .at_least = 1},
    {.name = "threads",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "of problems: threads that kernels may use (default: all cores)",
     .at_least = 1},
    {.name = "python", .value = "PATH", .help = "of problems: interpreter with PyTorch, for .py files"},
};

// The tables of a folder, or else its problems.
Result<std::vector<std::string>> FilesOf(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) return std::vector<std::string>{path};
  for (const bool tables : {true, false}) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
      const auto suffix = entry.path().extension();
      if (tables ? suffix == ".jsonl" : suffix == ".json" || suffix == ".py") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    if (!files.empty()) return files;
  }
  return Fail(ErrorKind::kUsage,
              fmt::format("--suite {0}: there is neither a table nor a problem in it; `hone record PROBLEM -o "
                          "{0}/NAME.jsonl` makes a table",
                          path));
}

// The searches of one problem: `search` makes one by an arm and a seed. The arms take turns, and who begins changes
// from seed to seed.
template <class Search>
Result<std::vector<std::vector<Trace>>> EachInTurn(const std::vector<Arm>& arms, std::int64_t seeds, Search search) {
  std::vector<std::vector<Trace>> traces(arms.size());
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    for (std::size_t turn = 0; turn < arms.size(); ++turn) {
      const std::size_t arm = (turn + static_cast<std::size_t>(seed) - 1) % arms.size();
      traces[arm].push_back(HONE_TRY(search(arms[arm], static_cast<std::uint64_t>(seed))));
    }
  }
  return traces;
}

Result<Experience> Learn(const std::string& path) {
  Experience experience;
  for (const std::string& file : HONE_TRY(FilesOf(path))) {
    for (const Lesson& lesson : LessonsOf(HONE_TRY(ReadTable(HONE_TRY(ReadFile(file)), file)))) experience.Add(lesson);
  }
  if (experience.empty())
    return Fail(
        ErrorKind::kUsage,
        fmt::format("--learn {}: its tables do not say what was tried; `hone record` makes ones that do", path));
  return experience;
}

Result<ProblemTraces> OverTable(VerbCall& call, const std::string& file, const std::vector<Arm>& arms,
                                const Experience& experience) {
  const SpaceTable table = HONE_TRY(ReadTable(HONE_TRY(ReadFile(file)), file));
  if (table.best_us <= 0)
    return Fail(ErrorKind::kUsage, fmt::format("{}: nothing in it was accepted, so there is nothing to find", file));
  call.Stage(fmt::format("searching {}", table.head.problem));
  auto traces = HONE_TRY(EachInTurn(arms, call.Int("seeds"), [&](const Arm& arm, std::uint64_t seed) {
    return SearchTable(table, arm.search, seed, arm.budget, arm.memory ? &experience : nullptr);
  }));
  return ProblemTraces{.problem = table.head.problem, .best_us = table.best_us, .traces = std::move(traces)};
}

// One search as `hone optimize` makes it, but for baselines and confirmation.
Result<Trace> SearchLive(Workbench& bench, const Arm& arm, std::uint64_t seed) {
  const auto expert = HONE_TRY(ChosenProposers::Parse("expert"));
  SearchSettings settings;
  settings.run = {.seed = seed, .search = arm.search, .proposer = expert.Identity()};
  settings.budget = arm.budget;
  settings.evaluate.baselines.clear();
  settings.evaluate.bound_us = bench.bound.least_us;
  settings.confirm_candidates = 0;
  RunRecord wanted;
  wanted.problem_name = bench.problem.name;
  wanted.problem_identity = Identity(bench.problem);
  wanted.target = "cpu";
  wanted.machine = bench.machine.id;
  wanted.settings = ToJson(settings.run);
  wanted.budget = ToJson(settings.budget);
  wanted.bound_us = bench.bound.sure_us;
  Store store = HONE_TRY(Store::Open(":memory:"));
  OpenedRun opened = HONE_TRY(OpenRun(store, wanted, ToJson(bench.problem)));
  const auto proposer = HONE_TRY(expert.Make({.graph = bench.graph, .machine = bench.machine}));
  Trace trace;
  const auto seconds = [begun = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  const SearchHooks hooks = TraceInto(trace, seconds, [](const Attempt& attempt) { return attempt.time_us(); });
  const SearchOutcome outcome =
      HONE_TRY(RunSearch(store, std::move(opened.record), *proposer, bench.evaluator(), settings, hooks));
  trace.stop = outcome.stop.reason;
  return trace;
}

// The fastest that is known is then the fastest that any of the searches found.
Result<ProblemTraces> Live(VerbCall& call, const std::string& file, const std::vector<Arm>& arms) {
  Workbench bench = HONE_TRY(OpenWorkbench(
      call, file, {.python = call.Text("python"), .torch = false, .threads = static_cast<int>(call.Int("threads"))}));
  ProblemTraces problem{.problem = bench.problem.name, .best_us = 0, .traces = {}};
  problem.traces = HONE_TRY(EachInTurn(arms, call.Int("seeds"), [&](const Arm& arm, std::uint64_t seed) {
    call.Note(fmt::format("{}: {}, seed {}", bench.problem.name, arm.words, seed));
    return SearchLive(bench, arm, seed);
  }));
  for (const std::vector<Trace>& seeds : problem.traces) {
    for (const Trace& trace : seeds) {
      const double us = trace.points.empty() ? 0 : trace.points.back().best_us;
      if (us > 0 && (problem.best_us == 0 || us < problem.best_us)) problem.best_us = us;
    }
  }
  if (problem.best_us <= 0)
    return Fail(ErrorKind::kUsage, fmt::format("{}: no search found anything that was accepted", file));
  return problem;
}

Json PairedJson(const Paired& paired) {
  return {{"ratio", std::exp(paired.mean)},
          {"low", std::exp(paired.interval.low)},
          {"high", std::exp(paired.interval.high)},
          {"p", paired.chance},
          {"wins", paired.above},
          {"losses", paired.below},
          {"equal", paired.equal}};
}

std::string PairedText(const Paired& paired) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]  {:<8.2g} {:>3}-{}-{}", std::exp(paired.mean),
                     std::exp(paired.interval.low), std::exp(paired.interval.high), paired.chance, paired.above,
                     paired.equal, paired.below);
}

// "34 %".
std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string Text(const std::vector<Arm>& arms, const Compared& compared, std::size_t problems, std::int64_t seeds,
                 int attempts) {
  std::size_t wide = 10;
  for (const Arm& arm : arms) wide = std::max(wide, arm.words.size());
  std::string text = fmt::format(
      "{} problems, {} seeds, {} attempts\n\n{:<{}}  quality  anytime  reached 95 %  {:>9}  "
      "{:>8}  attempts   seconds\n",
      problems, seeds, attempts, "arm", wide, "attempts", "seconds");
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmFigures& figures = compared.arms[i];
    const auto to_95 = [](double value, const char* format) {
      return value > 0 ? fmt::format(fmt::runtime(format), value) : std::string("never");
    };
    text += fmt::format("{:<{}}  {:<7}  {:<7}  {:<12}  {:>9}  {:>8}  {:>8.1f}  {:>8.1f}\n", arms[i].words, wide,
                        Percent(figures.quality), Percent(figures.anytime), Percent(figures.reached),
                        to_95(figures.to_95_attempts, "{:.0f}"), to_95(figures.to_95_seconds, "{:.1f}"),
                        figures.attempts, figures.seconds);
  }
  if (compared.against.empty()) return text;
  text += fmt::format("\n{:<{}}  {:<38} {}\n", fmt::format("over {}", arms.front().words), wide,
                      "quality [95 %]        p        w-e-l", "anytime [95 %]        p        w-e-l");
  for (std::size_t i = 1; i < arms.size(); ++i) {
    text += fmt::format("{:<{}}  {:<38} {}\n", arms[i].words, wide, PairedText(compared.against[i - 1].quality),
                        PairedText(compared.against[i - 1].anytime));
  }
  return text;
}

Json Document(const std::vector<Arm>& arms, const Compared& compared, const std::vector<ProblemTraces>& problems) {
  Json names = Json::array(), rows = Json::array();
  for (const ProblemTraces& problem : problems) names.push_back(problem.problem);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmFigures& figures = compared.arms[i];
    Json& row = rows.emplace_back();
    row = {{"arm", arms[i].words},
           {"search", arms[i].search},
           {"quality", figures.quality},
           {"anytime", figures.anytime},
           {"reached", figures.reached},
           {"to_95_attempts", figures.to_95_attempts},
           {"to_95_seconds", figures.to_95_seconds},
           {"attempts", figures.attempts},
           {"seconds", figures.seconds},
           {"curve", figures.curve},
           {"by_problem", figures.by_problem}};
    if (i == 0) continue;
    row["against"] = {{"quality", PairedJson(compared.against[i - 1].quality)},
                      {"anytime", PairedJson(compared.against[i - 1].anytime)}};
  }
  return {{"problems", std::move(names)}, {"arms", std::move(rows)}};
}

Result<Answer> RunIt(VerbCall& call) {
  if (!call.Has("suite")) return Fail(ErrorKind::kUsage, "--suite is missing: tables of `hone record`, or problems");
  const Budget budget{.attempts = static_cast<int>(call.Int("budget")), .seconds = 0, .headroom = -1};
  std::vector<Arm> arms;
  for (const std::string& words : call.Texts("arm")) arms.push_back(HONE_TRY(ParseArm(words, budget)));
  if (arms.empty())
    return Fail(ErrorKind::kUsage, "there is nothing to compare: hone compare --suite PATH greedy mcts");
  const bool remembers = std::ranges::any_of(arms, &Arm::memory);
  if (remembers != call.Has("learn"))
    return Fail(ErrorKind::kUsage, remembers ? "an arm with --memory on needs --learn: tables of other problems"
                                             : "--learn is of arms with --memory on: 'greedy --memory on'");
  const Experience experience = remembers ? HONE_TRY(Learn(call.Text("learn"))) : Experience();
  std::vector<ProblemTraces> problems;
  for (const std::string& file : HONE_TRY(FilesOf(call.Text("suite")))) {
    const bool table = file.ends_with(".jsonl");
    if (remembers && !table)
      return Fail(ErrorKind::kUsage, fmt::format("{} is no table: --memory on of an arm is of tables", file));
    problems.push_back(HONE_TRY(table ? OverTable(call, file, arms, experience) : Live(call, file, arms)));
  }
  call.Stage("");
  const Compared compared = CompareArms(problems, budget.attempts);
  return Answer(Document(arms, compared, problems),
                Text(arms, compared, problems.size(), call.Int("seeds"), budget.attempts));
}

}  // namespace

HONE_ROW(Verb){
    .name = "compare",
    .doc = "Compare search strategies over recorded tables, or live",
    .group = VerbGroup::kMachine,
    .place = 5,
    .help =
        "Every arm searches every table, or every problem on this processor, with every seed. Quality is the fastest "
        "known time over that of what the search held to be the best at its end; anytime is its mean over the attempts "
        "of the budget. Attempts and seconds come twice: until 95 % of the fastest (the median, never = most searches "
        "did not come there), and of a whole search (the mean). Seconds over a table are those of its recording; live, "
        "what one arm has compiled is there for the next, so compare attempts. The second table compares with the "
        "first\n"
        "arm, problem by problem: the geometric mean of the ratios with its 95 % interval (bootstrap over problems),\n"
        "Wilcoxon's signed-rank test, and wins, equals, losses (docs/search.md).\n"
        "\n"
        "  hone compare --suite docs/measured/search greedy epsilon mcts mcts:memory=0\n"
        "  hone compare --suite model.jsonl greedy 'greedy --idle 8'\n"
        "  hone compare --suite these --learn others greedy 'greedy --memory on'\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "problems[]; arms[]: arm, search, quality, anytime, reached, to_95_attempts and to_95_seconds (0 = never),\n"
        "attempts, seconds, curve[] (quality after each attempt), by_problem[] (quality at the end), against (the\n"
        "first arm: quality and anytime, each with ratio, low, high, p, wins, losses, equal)",
    .run = RunIt};

}  // namespace hone::verb_compare
