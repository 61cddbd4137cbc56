// hone compare: search strategies and budgets side by side, over recorded tables.
#include "search/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "command/command.h"
#include "command/evaluation_text.h"

namespace hone {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {
    {.name = "arm",
     .help = "a strategy, with a budget of its own if it has one: greedy, mcts:memory=0, 'greedy --headroom 0.1'",
     .presence = Presence::kRepeated}};
constexpr Option kOptions[] = {
    {.name = "suite",
     .value = "PATH",
     .help = "a table of `hone record`, or a folder of them (*.jsonl)",
     .reads = true},
    {.name = "seeds",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "use the seeds 1 to N",
     .otherwise = "20",
     .at_least = 1},
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "attempts of each search",
     .otherwise = "40",
     .at_least = 1},
};

Result<std::vector<SpaceTable>> ReadSuite(const std::string& path) {
  std::vector<std::string> files;
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    for (const auto& entry : std::filesystem::directory_iterator(path, failed)) {
      if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
  } else {
    files = {path};
  }
  std::vector<SpaceTable> tables;
  for (const std::string& file : files) {
    tables.push_back(HONE_TRY(ReadTable(HONE_TRY(ReadFile(file)), file)));
    if (tables.back().best_us <= 0)
      return Fail(ErrorKind::kUsage, fmt::format("{}: nothing in it was accepted, so there is nothing to find", file));
  }
  if (tables.empty())
    return Fail(ErrorKind::kUsage,
                fmt::format("--suite {}: there is no table in it; `hone record PROBLEM -o {}/NAME.jsonl` makes one",
                            path, path));
  return tables;
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
  if (!call.Has("suite"))
    return Fail(ErrorKind::kUsage, "--suite is missing: a table of `hone record`, or a folder of them");
  const Budget budget{.attempts = static_cast<int>(call.Int("budget")), .seconds = 0, .headroom = -1};
  std::vector<Arm> arms;
  for (const std::string& words : call.Texts("arm")) arms.push_back(HONE_TRY(ParseArm(words, budget)));
  if (arms.empty())
    return Fail(ErrorKind::kUsage, "there is nothing to compare: hone compare --suite PATH greedy mcts");
  const std::vector<SpaceTable> tables = HONE_TRY(ReadSuite(call.Text("suite")));
  std::vector<ProblemTraces> problems;
  for (const SpaceTable& table : tables) {
    call.Stage(fmt::format("searching {}", table.head.problem));
    ProblemTraces& problem = problems.emplace_back();
    problem = {.problem = table.head.problem, .best_us = table.best_us, .traces = {}};
    problem.traces.resize(arms.size());
    for (std::int64_t seed = 1; seed <= call.Int("seeds"); ++seed) {
      for (std::size_t i = 0; i < arms.size(); ++i) {
        problem.traces[i].push_back(
            HONE_TRY(SearchTable(table, arms[i].search, static_cast<std::uint64_t>(seed), arms[i].budget)));
      }
    }
  }
  call.Stage("");
  const Compared compared = CompareArms(problems, budget.attempts);
  return Answer(Document(arms, compared, problems),
                Text(arms, compared, problems.size(), call.Int("seeds"), budget.attempts));
}

}  // namespace

HONE_VERB(compare){
    .name = "compare",
    .doc = "Compare search strategies over recorded tables",
    .group = VerbGroup::kMachine,
    .place = 5,
    .help =
        "Every arm searches every table with every seed. Quality is the fastest known time over that of what the\n"
        "search held to be the best at its end; anytime is its mean over the attempts of the budget. Attempts and\n"
        "seconds come twice: until 95 % of the fastest (the median, never = most searches did not come there), and\n"
        "of a whole search (the mean). Seconds are those of the recording. The second table compares with the first\n"
        "arm, problem by problem: the geometric mean of the ratios with its 95 % interval (bootstrap over problems),\n"
        "Wilcoxon's signed-rank test, and wins, equals, losses (docs/search.md).\n"
        "\n"
        "  hone compare --suite docs/measured/search greedy epsilon mcts mcts:memory=0\n"
        "  hone compare --suite model.jsonl greedy 'greedy --idle 8'\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "problems[]; arms[]: arm, search, quality, anytime, reached, to_95_attempts and to_95_seconds (0 = never),\n"
        "attempts, seconds, curve[] (quality after each attempt), by_problem[] (quality at the end), against (the\n"
        "first arm: quality and anytime, each with ratio, low, high, p, wins, losses, equal)",
    .run = RunIt};

}  // namespace hone
