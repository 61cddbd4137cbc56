// hone memory: what earlier runs found out and later ones may begin with.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/date.h"
#include "base/files.h"
#include "command/command.h"
#include "command/evaluation_text.h"
#include "command/wrong_input.h"
#include "search/memory_file.h"
#include "search/remember.h"
#include "store/store.h"

namespace hone::verb_memory {
namespace {

using Json = nlohmann::json;

constexpr Option kOptions[] = {
    {.name = "problem", .value = "TEXT", .help = "only what was found out about problems whose name holds this"},
    {.name = "machine",
     .value = "ID",
     .help = "only what was found out on this machine; the first digits of its id will do"},
    {.name = "older",
     .type = ValueType::kInteger,
     .value = "DAYS",
     .help = "only what was found out so many days ago or more",
     .at_least = 0},
    {.name = "prune",
     .type = ValueType::kFlag,
     .help = "forget what these options leave, or all; says first what that is"},
    {.name = "yes", .type = ValueType::kFlag, .help = "with --prune: do forget it"},
    {.name = "export", .value = "FILE", .help = "write what these options leave as JSON lines"},
    {.name = "import", .value = "FILE", .help = "take what another store exported", .reads = true},
    kStoreOption};

constexpr std::size_t kMostKinds = 30;  // that are listed for people; --json has all

// The statement alone: "n0 = reduce max(n1) over [1]".
std::string StatementOf(const std::string& piece) {
  const std::size_t at = piece.find("\nn0");
  return at == std::string::npos ? piece : piece.substr(at + 1, piece.find('\n', at + 1) - at - 1);
}

Json Object(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

std::string Settings(const Json& settings) {
  std::string text;
  for (const auto& [knob, value] : settings.items())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", knob, value.is_string() ? value.get<std::string>() : "?");
  return text;
}

std::string Count(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Result<MemoryFile> Wanted(VerbCall& call, Store& store) {
  MemoryFile memory{HONE_TRY(store.AllProven()), HONE_TRY(store.AllLessons())};
  const std::string problem = call.Text("problem"), machine = call.Text("machine");
  constexpr std::int64_t kDayMs = std::int64_t{24} * 3600 * 1000;
  const std::int64_t before = call.Has("older") ? UnixMilliseconds() - call.Int("older") * kDayMs : INT64_MAX;
  const auto other = [&](const auto& one) {
    return one.problem_name.find(problem) == std::string::npos || !one.machine.starts_with(machine) ||
           one.at_ms > before;
  };
  std::erase_if(memory.proven, other);
  std::erase_if(memory.lessons, other);
  return memory;
}

// What is known of a kind of change, as a run on the machine where most was learnt would begin with it.
struct Known {
  std::string target, machine, kind;
  Tally tally;
  double expected = 0;  // gain of a kernel that takes all of the time, without anybody's claim
};

std::vector<Known> KnownOf(const std::vector<LessonRecord>& lessons) {
  std::map<std::pair<std::string, std::string>, Experience> by_machine;
  for (const LessonRecord& one : lessons)
    by_machine[{one.target, one.machine}].Add(LessonFrom(one), WeightOf(one, one.machine, HONE_VERSION));
  std::vector<Known> known;
  for (const auto& [where, experience] : by_machine) {
    for (const auto& [kind, tally] : experience.kinds())
      known.push_back(
          {where.first, where.second, kind, tally, tally.brought / (tally.shares_squared + kGrantedLessons)});
  }
  std::ranges::stable_sort(known, std::greater<>(), [](const Known& one) { return one.tally.shares_squared; });
  return known;
}

// How much of what is held of a kind is by its own lessons, 0 to 1.
double Sureness(const Tally& tally) { return tally.shares_squared / (tally.shares_squared + kGrantedLessons); }

Json ToDocument(const DoubtRecord& one) {
  return {{"dropped", one.dropped}, {"tried", one.tried}, {"accepted", one.accepted}, {"better", one.better}};
}

std::string DoubtText(std::string_view by, const DoubtRecord& one) {
  if (one.dropped + one.tried == 0) return "";
  return fmt::format("{}: {} dropped, {} tried all the same, of which {} accepted, {} among the faster half\n", by,
                     Count(static_cast<std::size_t>(one.dropped), "proposal"), one.tried, one.accepted, one.better);
}

Answer Show(const MemoryFile& memory, const Doubts& doubts, const std::string& path) {
  Json proven = Json::array(), kinds = Json::array();
  std::string text = fmt::format("{} that won and {}, in {}\n", Count(memory.proven.size(), "piece"),
                                 Count(memory.lessons.size(), "lesson"), path);
  for (const ProvenRecord& one : memory.proven) {
    const Json settings = Object(one.settings);
    proven.push_back({{"piece", one.piece},
                      {"text", one.text},
                      {"settings", settings},
                      {"target", one.target},
                      {"machine", one.machine},
                      {"run", one.run},
                      {"problem", one.problem_name},
                      {"share", one.share},
                      {"gain", one.gain},
                      {"speedup", one.speedup},
                      {"version", one.version},
                      {"at_ms", one.at_ms}});
    text +=
        fmt::format("\n{}\n  with     {}\n  won in   {}, {}: {:.0f} % of its time, {:.2f}x its start; {}, {} on {}\n",
                    StatementOf(one.text), Settings(settings), one.run, one.problem_name, 100 * one.share, one.gain,
                    UtcTime(one.at_ms).substr(0, 10), one.target, one.machine);
  }
  const std::vector<Known> known = KnownOf(memory.lessons);
  if (!known.empty())
    text += fmt::format("\n{:<52} {:>7} {:>7} {:>8} {:>5}  {}\n", "what was tried, surest first", "lessons", "refused",
                        "brings", "sure", "where");
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Known& one = known[i];
    kinds.push_back({{"kind", one.kind},
                     {"target", one.target},
                     {"machine", one.machine},
                     {"lessons", one.tally.lessons},
                     {"refused", one.tally.refused},
                     {"brings", one.expected},
                     {"sure", Sureness(one.tally)}});
    if (i >= kMostKinds) continue;
    text += fmt::format("{:<52} {:>7.1f} {:>7.1f} {:>+6.0f} % {:>3.0f} %  {} on {}\n", one.kind, one.tally.lessons,
                        one.tally.refused, 100 * (1 - std::exp(-one.expected)), 100 * Sureness(one.tally), one.target,
                        one.machine);
  }
  if (known.size() > kMostKinds) text += fmt::format("and {} more kinds: --json\n", known.size() - kMostKinds);
  const std::string doubted =
      DoubtText("doubted by experience", doubts.experience) + DoubtText("doubted by their builds", doubts.builds);
  if (!doubted.empty()) text += "\n" + doubted;
  if (memory.proven.empty() && memory.lessons.empty()) text += "`hone optimize` leaves what it tries and confirms\n";
  return Answer({{"store", path},
                 {"proven", std::move(proven)},
                 {"lessons", memory.lessons.size()},
                 {"kinds", std::move(kinds)},
                 {"doubted", ToDocument(doubts.experience)},
                 {"doubted_by_builds", ToDocument(doubts.builds)}},
                std::move(text));
}

Json Counts(const MemoryFile& memory, const std::string& path) {
  return {{"store", path}, {"proven", memory.proven.size()}, {"lessons", memory.lessons.size()}};
}

std::string Both(const MemoryFile& memory) {
  return fmt::format("{} and {}", Count(memory.proven.size(), "piece"), Count(memory.lessons.size(), "lesson"));
}

Result<Answer> Prune(VerbCall& call, Store& store) {
  const MemoryFile memory = HONE_TRY(Wanted(call, store));
  Json document = Counts(memory, store.path());
  document["forgotten"] = call.Flag("yes");
  if (!call.Flag("yes")) return Answer(document, fmt::format("would forget {}: --yes does it\n", Both(memory)));
  HONE_TRY(store.DeleteProven(memory.proven));
  HONE_TRY(store.DeleteLessons(memory.lessons));
  return Answer(document, fmt::format("forgot {}\n", Both(memory)));
}

Result<Answer> Export(VerbCall& call, Store& store) {
  const MemoryFile memory = HONE_TRY(Wanted(call, store));
  const std::string file = call.Text("export");
  HONE_TRY(WriteFileAtomically(file, ToLines(memory)));
  return Answer(Counts(memory, store.path()), fmt::format("{} in {}\n", Both(memory), file));
}

Result<Answer> Import(VerbCall& call, Store& store) {
  const std::string file = call.Text("import");
  const MemoryFile memory = HONE_TRY(FromInput(ReadMemory(HONE_TRY(FromInput(ReadFile(file))), file)));
  HONE_TRY(store.PutMemory(memory.proven, memory.lessons));
  return Answer(Counts(memory, store.path()), fmt::format("{} of {} are in {}\n", Both(memory), file, store.path()));
}

Result<Answer> RunIt(VerbCall& call) {
  int wishes = 0;
  for (const char* name : {"prune", "export", "import"}) wishes += call.Has(name) ? 1 : 0;
  if (wishes > 1) return Fail(ErrorKind::kUsage, "--prune, --export and --import do not go together");
  if (call.Flag("yes") && !call.Flag("prune")) return Fail(ErrorKind::kUsage, "--yes is of --prune");
  const std::string path = StorePath(call);
  if (call.Has("import")) {
    for (const char* name : {"problem", "machine", "older"}) {
      if (call.Has(name))
        return Fail(ErrorKind::kUsage, fmt::format("--{} does not go with --import: it takes all", name));
    }
    Store store = HONE_TRY(Store::Open(path));
    return Import(call, store);
  }
  std::error_code ignored;
  // Nothing was optimized yet: that is an answer and not a failure, unless a store was named.
  if (!call.Has("store") && !std::filesystem::exists(path, ignored)) return Show({}, {}, path);
  Store store = HONE_TRY(Store::OpenExisting(path));
  if (call.Flag("prune")) return Prune(call, store);
  if (call.Has("export")) return Export(call, store);
  return Show(HONE_TRY(Wanted(call, store)), HONE_TRY(store.CountDoubts(call.Text("problem"), call.Text("machine"))),
              path);
}

}  // namespace

HONE_ROW(Verb){
    .name = "memory",
    .doc = "Show what earlier runs found out, forget it, hand it to another store",
    .group = VerbGroup::kRuns,
    .place = 8,
    .help =
        "Each winner that was confirmed leaves the pieces of its program: what each computes, on which device, with "
        "which settings. Each attempt that changed one setting leaves a lesson: what it brought, or that it was "
        "refused. `hone optimize --memory on` begins with what is known of its problem's pieces and kinds of kernel "
        "on its device (docs/memory.md). Of lessons the sums by kind are shown: how many, by weight, what such a "
        "change at a kernel that takes all of the time is held to save, and how much of that is by these lessons.\n"
        "\n"
        "  hone memory\n"
        "  hone memory --problem softmax\n"
        "  hone memory --prune --older 180\n"
        "  hone memory --export known.jsonl\n"
        "  hone memory --import known.jsonl --store other.sqlite\n",
    .options = kOptions,
    .json =
        "store; proven[], newest first: piece (its key), text (as a program of its own), settings, target, machine, "
        "run and problem (whose it was), share (of the program's time, predicted, 0 to 1), gain (how many times as "
        "fast the program was as its start), speedup (over the run's first baseline; 0 = not known), version (of "
        "hone), at_ms; lessons (so many); kinds[], surest first: kind, target, machine, lessons and refused (weights), "
        "brings (ln of time before over after), sure (0 to 1); doubted (by experience) and "
        "doubted_by_builds: dropped, tried, accepted, better (so many proposals). "
        "With --prune, --export and --import: store, proven and "
        "lessons (so many); forgotten",
    .run = RunIt,
};

}  // namespace hone::verb_memory
