// hone compare: search strategies, proposers, budgets and advisers side by side, over recorded tables, or live.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "command/code_index_option.h"
#include "command/command.h"
#include "command/how_made.h"
#include "command/kept_comparison.h"
#include "command/live_arms.h"
#include "command/target.h"
#include "command/wrong_input.h"
#include "search/comparison.h"
#include "search/comparison_svg.h"
#include "search/memory_file.h"
#include "search/remember.h"
#include "search/search.h"
#include "search/table.h"
#include "store/store.h"

namespace hone::verb_compare {
namespace {

using Json = nlohmann::json;

constexpr Positional kPositionals[] = {
    {.name = "arm",
     .help = "a strategy, with what is different for it: greedy, mcts:memory=0, 'greedy --headroom 0.1'; of problems "
             "'greedy --proposer model:coder'",
     .presence = Presence::kRepeated,
     .choices = ChoicesOf<AllStrategies>}};
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
     .help = "of tables: tables, or a folder of them: what was tried there is what arms with --memory on begin with",
     .reads = true},
    {.name = "budget",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "attempts of each search",
     .otherwise = "40",
     .at_least = 1},
    {.name = "max-tokens",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "tokens, in and out, that language models may take of each search (default: any number)",
     .at_least = 1},
    {.name = "max-dollars",
     .type = ValueType::kReal,
     .value = "D",
     .help = "dollars that they may cost in each search (default: any amount)",
     .at_least = 0},
    kModelsOption,
    kIndexOption,
    {.name = "store",
     .value = "PATH",
     .help = "run store, beside which code indexes lie, and what it knows is what arms over problems with --memory on "
             "begin with (default: the usual one)"},
    kTargetOption,
    {.name = "measured",
     .value = "DIR",
     .help =
         "of problems: tables of what was measured, DIR/PROBLEM.jsonl; what is there is not measured again, and what "
         "is measured is added"},
    {.name = "threads",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "of problems: threads that kernels may use (default: all cores)",
     .at_least = 1},
    {.name = "python", .value = "PATH", .help = "of problems: interpreter with PyTorch, for .py files"},
    {.name = "svg", .value = "FILE", .help = "draw the arms' curves and differences there", .writes = true},
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

// What arms begin with that name a file, or over problems the run store. `learned`: "on" is what --learn says.
Result<Memories> MemoriesOf(VerbCall& call, const std::vector<Arm>& arms, bool learned) {
  Memories memories;
  for (const Arm& arm : arms) {
    if (arm.memory.empty() || memories.contains(arm.memory) || (learned && arm.memory == "on")) continue;
    MemoryFile& memory = memories[arm.memory];
    if (arm.memory != "on") {
      memory = HONE_TRY(FromInput(ReadMemory(HONE_TRY(FromInput(ReadFile(arm.memory))), arm.memory)));
      continue;
    }
    const std::string path = StorePath(call);
    std::error_code ignored;
    if (call.Has("store") || std::filesystem::exists(path, ignored)) {
      Store store = HONE_TRY(Store::OpenExisting(path));
      memory = {HONE_TRY(store.AllProven()), HONE_TRY(store.AllLessons())};
    }
    if (memory.proven.empty() && memory.lessons.empty())
      call.Note(fmt::format("{} knows nothing yet: arms with --memory on begin with nothing", path));
  }
  return memories;
}

Result<ProblemTraces> OverTable(VerbCall& call, const std::string& file, const std::vector<Arm>& arms,
                                const Experience& learned, const Memories& memories) {
  const SpaceTable table = HONE_TRY(ReadTable(HONE_TRY(ReadFile(file)), file));
  if (table.best_us <= 0)
    return Fail(ErrorKind::kUsage, fmt::format("{}: nothing in it was accepted, so there is nothing to find", file));
  call.Stage(fmt::format("searching {}", table.head.problem));
  std::map<std::string, Experience> known = {{"on", learned}};
  for (const auto& [word, memory] : memories)
    known[word] = ExperienceFrom(memory.lessons, table.head.target, table.head.machine, HONE_VERSION);
  auto traces = HONE_TRY(EachInTurn(arms, call.Int("seeds"), [&](const Arm& arm, std::uint64_t seed) {
    return SearchTable(table, arm.search, seed, arm.budget, arm.memory.empty() ? nullptr : &known[arm.memory]);
  }));
  return ProblemTraces{.problem = table.head.problem, .best_us = table.best_us, .traces = std::move(traces)};
}

// Of one problem nothing can be drawn again.
bool HasInterval(const Paired& paired) { return paired.above + paired.below + paired.equal > 1; }

Json PairedJson(const Paired& paired) {
  const bool interval = HasInterval(paired);
  return {{"ratio", std::exp(paired.mean)},
          {"low", interval ? Json(std::exp(paired.interval.low)) : Json()},
          {"high", interval ? Json(std::exp(paired.interval.high)) : Json()},
          {"p", paired.chance},
          {"wins", paired.above},
          {"losses", paired.below},
          {"equal", paired.equal}};
}

std::string PairedText(const Paired& paired) {
  const std::string interval = HasInterval(paired) ? fmt::format("[{:.3f}, {:.3f}]", std::exp(paired.interval.low),
                                                                 std::exp(paired.interval.high))
                                                   : "";
  return fmt::format("{:.3f} {:<14}  {:<8.2g} {:>3}-{}-{}", std::exp(paired.mean), interval, paired.chance,
                     paired.above, paired.equal, paired.below);
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
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmFigures& figures = compared.arms[i];
    if (figures.tokens > 0)
      text +=
          fmt::format("{}: {:.0f} tokens, {:.4f} dollars a search\n", arms[i].words, figures.tokens, figures.dollars);
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

Json SearchesJson(const std::vector<Arm>& arms, const std::vector<ProblemTraces>& problems) {
  Json searches = Json::array();
  for (const ProblemTraces& problem : problems) {
    for (std::size_t i = 0; i < arms.size(); ++i) {
      for (std::size_t k = 0; k < problem.traces[i].size(); ++k) {
        const Trace& trace = problem.traces[i][k];
        Json attempts = Json::array();
        for (const TracePoint& point : trace.points)
          attempts.push_back({{"candidate", point.candidate},
                              {"us", point.us},
                              {"best_us", point.best_us},
                              {"change", point.change},
                              {"seconds", point.seconds},
                              {"rule", point.rule},
                              {"promised", point.promised},
                              {"brought", point.brought}});
        searches.push_back({{"problem", problem.problem},
                            {"best_us", problem.best_us},
                            {"arm", arms[i].words},
                            {"seed", k + 1},
                            {"stop", trace.stop},
                            {"attempts", std::move(attempts)}});
      }
    }
  }
  return searches;
}

// But for the searches.
Json Document(const std::vector<Arm>& arms, const Compared& compared, const std::vector<ProblemTraces>& problems) {
  Json names = Json::array(), rows = Json::array();
  for (const ProblemTraces& problem : problems) names.push_back(problem.problem);
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const ArmFigures& figures = compared.arms[i];
    Json& row = rows.emplace_back();
    row = {{"arm", arms[i].words},
           {"search", arms[i].search},
           {"proposer", arms[i].proposer},
           {"memory", arms[i].memory.empty() ? "off" : arms[i].memory},
           {"quality", figures.quality},
           {"anytime", figures.anytime},
           {"reached", figures.reached},
           {"to_95_attempts", figures.to_95_attempts},
           {"to_95_seconds", figures.to_95_seconds},
           {"attempts", figures.attempts},
           {"seconds", figures.seconds},
           {"tokens", figures.tokens},
           {"dollars", figures.dollars},
           {"curve", figures.curve},
           {"by_problem", figures.by_problem}};
    if (i == 0) continue;
    row["against"] = {{"quality", PairedJson(compared.against[i - 1].quality)},
                      {"anytime", PairedJson(compared.against[i - 1].anytime)}};
  }
  return {{"problems", std::move(names)}, {"arms", std::move(rows)}};
}

// Writes what there is by now, for `hone serve`. Of a problem in work that is what all arms have searched once.
class Onlookers {
 public:
  Onlookers(VerbCall& call, const std::vector<Arm>& arms, const std::map<std::string, std::string>& made, int attempts,
            std::size_t searches)
      : arms_(arms), made_(made), attempts_(attempts) {
    auto kept = KeptComparison::Begin(StorePath(call), made.at("command"), searches);
    if (kept) {
      kept_.emplace(std::move(*kept));
    } else {
      call.Note(fmt::format("hone serve will not show this comparison: {}", kept.error().message));
    }
  }

  // `searched`: so many more. What cannot be written now may be the next time.
  void Show(std::vector<ProblemTraces> problems, std::size_t searched) {
    if (!kept_) return;
    kept_->Searched(searched);
    if (!kept_->Due()) return;
    std::erase_if(problems, [](const ProblemTraces& one) {
      return one.best_us <= 0 || std::ranges::any_of(one.traces, [](const auto& seeds) { return seeds.empty(); });
    });
    Json document = {{"problems", Json::array()}, {"arms", Json::array()}};
    if (!problems.empty()) document = Document(arms_, CompareArms(problems, attempts_), problems);
    document["made"] = made_;
    static_cast<void>(kept_->Write(std::move(document)));
  }

 private:
  const std::vector<Arm>& arms_;
  const std::map<std::string, std::string>& made_;
  const int attempts_;
  std::optional<KeptComparison> kept_;
};

Result<Answer> RunIt(VerbCall& call) {
  if (!call.Has("suite")) return Fail(ErrorKind::kUsage, "--suite is missing: tables of `hone record`, or problems");
  const Budget budget{.attempts = static_cast<int>(call.Int("budget")),
                      .seconds = 0,
                      .headroom = -1,
                      .tokens = call.Int("max-tokens"),
                      .dollars = call.Real("max-dollars")};
  std::vector<Arm> arms;
  for (const std::string& words : call.Texts("arm")) arms.push_back(HONE_TRY(ParseArm(words, budget)));
  if (arms.empty())
    return Fail(ErrorKind::kUsage, "there is nothing to compare: hone compare --suite PATH greedy mcts");
  const std::vector<std::string> files = HONE_TRY(FilesOf(call.Text("suite")));
  const bool tables = files.front().ends_with(".jsonl");  // all of them, or none
  const bool learns = tables && std::ranges::find(arms, "on", &Arm::memory) != arms.end();
  if (learns != call.Has("learn"))
    return Fail(ErrorKind::kUsage, learns
                                       ? "an arm with --memory on needs --learn over tables: tables of other problems"
                                       : "--learn is of arms with --memory on over tables: 'greedy --memory on'");
  const bool asks =
      std::ranges::any_of(arms, [](const Arm& arm) { return arm.tools.kind != Advisers::Kind::kUnnamed; });
  const bool proposes = std::ranges::any_of(arms, [](const Arm& arm) { return arm.proposer != kUsualProposer; });
  if (asks && tables)
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is a table, which does not say what was found: --tools of an arm is of problems",
                            files.front()));
  if (proposes && tables)
    return Fail(
        ErrorKind::kUsage,
        fmt::format("{} is a table of what one proposer offered: --proposer of an arm is of problems", files.front()));
  const Experience learned = learns ? HONE_TRY(Learn(call.Text("learn"))) : Experience();
  const Memories memories = HONE_TRY(MemoriesOf(call, arms, learns));
  const auto made = HowMade(call, "compare", kOptions, call.Texts("arm"));
  const std::size_t of_each = arms.size() * static_cast<std::size_t>(call.Int("seeds"));
  Onlookers onlookers(call, arms, made, budget.attempts, files.size() * of_each);
  onlookers.Show({}, 0);
  std::vector<ProblemTraces> problems;
  const auto after_one = [&](const ProblemTraces& so_far) {
    std::vector<ProblemTraces> all = problems;
    all.push_back(so_far);
    onlookers.Show(std::move(all), 1);
  };
  for (const std::string& file : files) {
    problems.push_back(HONE_TRY(tables ? OverTable(call, file, arms, learned, memories)
                                       : SearchLive(call, file, arms, memories, after_one)));
    if (tables) onlookers.Show(problems, of_each);
  }
  call.Stage("");
  const Compared compared = CompareArms(problems, budget.attempts);
  const std::string text = Text(arms, compared, problems.size(), call.Int("seeds"), budget.attempts);
  Json document = Document(arms, compared, problems);
  document["searches"] = SearchesJson(arms, problems);
  document["made"] = made;
  if (!call.Has("svg")) return Answer(document, text);
  return AnswerWithFile(std::move(document), text, ExitCode::kDone, call.Text("svg"),
                        DrawSvg(arms, compared, problems.size(), call.Int("seeds")));
}

}  // namespace

HONE_ROW(Verb){
    .name = "compare",
    .doc = "Compare search strategies over recorded tables, or with proposers live",
    .group = VerbGroup::kMachine,
    .place = 5,
    .help =
        "Every arm searches every table, or every problem on this processor, with every seed. Quality is the fastest "
        "known time over that of what the search held to be the best at its end; anytime is its mean over the attempts "
        "of the budget. Attempts and seconds come twice: until 95 % of the fastest (the median, never = most searches "
        "did not come there), and of a whole search (the mean). Seconds over a table are those of its recording. Live "
        "a "
        "candidate is measured once, whoever comes to it, and takes the seconds that it took then; an arm may ask "
        "advisers (--tools on). The second table compares with the first\n"
        "arm, problem by problem: the geometric mean of the ratios with its 95 % interval (bootstrap over problems),\n"
        "Wilcoxon's signed-rank test, and wins, equals, losses (docs/search.md).\n"
        "\n"
        "  hone compare --suite docs/measured/search greedy epsilon mcts mcts:memory=0\n"
        "  hone compare --suite model.jsonl greedy 'greedy --idle 8' --svg arms.svg\n"
        "  hone compare --suite these --learn others greedy 'greedy --memory on'\n"
        "  hone compare --suite problems greedy 'greedy --memory on' 'greedy --memory known.jsonl'\n"
        "  hone compare --suite problem.json --target cuda 'greedy --tools none' 'greedy --tools on'\n"
        "  hone compare --suite problem.json --seeds 3 greedy 'greedy --proposer model:coder'\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "problems[]; arms[]: arm, search, proposer, memory, quality, anytime, reached, to_95_attempts and "
        "to_95_seconds (0 = "
        "never),\n"
        "attempts, seconds, tokens and dollars (of language models, a search), curve[] (quality after each attempt), "
        "by_problem[] (quality at the end), against (the\n"
        "first arm: quality and anytime, each with ratio, low, high (null of one problem), p, wins, losses, equal); "
        "unwritten (why there is no --svg); searches[]: problem,\n"
        "best_us, arm, seed, stop, attempts[]: candidate, us (0 = refused), best_us, seconds (since the search "
        "began),\n"
        "change (of the attempt before), rule, promised, brought; made: command, suite, seeds, budget, target, "
        "machine, device (of cuda), made by",
    .run = RunIt};

}  // namespace hone::verb_compare
