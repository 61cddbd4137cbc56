// hone bundle: runs as one file, to be carried to a machine with another store.
#include "search/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "command/command.h"
#include "command/wrong_input.h"
#include "problem/import/import.h"

namespace hone::verb_bundle {
namespace {

constexpr Positional kPositionals[] = {
    {.name = "runs", .help = "runs, or problems: all runs of those", .presence = Presence::kRepeated, .run = true}};
constexpr Option kOptions[] = {
    {.name = "output", .letter = 'o', .value = "FILE", .help = "the bundle; a file that is there is replaced"},
    kPythonOption,
    kStoreOption,
};

// A run by its id, or all runs of a problem.
Result<std::vector<RunRecord>> Meant(VerbCall& call, Store& store, const std::string& word) {
  std::error_code ignored;
  if (!std::filesystem::exists(word, ignored)) return std::vector{HONE_TRY(Named(store.FindRun(word)))};
  ImportOptions import;
  import.python = call.Text("python");
  const std::string identity = Identity(HONE_TRY(Import(word, import)));
  std::vector<RunRecord> runs = HONE_TRY(store.Runs());
  std::erase_if(runs, [&](const RunRecord& run) { return run.problem_identity != identity; });
  if (!runs.empty()) return runs;
  return Fail(ErrorKind::kNotFound,
              fmt::format("the run store {} has no run of {}: `hone optimize {} --prepare` makes one", store.path(),
                          word, word));
}

Result<Answer> RunIt(VerbCall& call) {
  if (!call.Has("output")) return Fail(ErrorKind::kUsage, "-o FILE is missing: hone bundle RUN -o FILE");
  if (call.Texts("runs").empty()) return Fail(ErrorKind::kUsage, "RUN is missing: hone bundle RUN -o FILE");
  Store store = HONE_TRY(Store::OpenExisting(StorePath(call)));
  std::vector<RunRecord> runs;
  for (const std::string& word : call.Texts("runs")) {
    for (RunRecord& run : HONE_TRY(Meant(call, store, word))) {
      const auto same = [&run](const RunRecord& other) { return other.id == run.id; };
      if (std::ranges::none_of(runs, same)) runs.push_back(std::move(run));
    }
  }
  const std::string path = call.Text("output");
  HONE_TRY(WriteBundle(store, runs, path));
  nlohmann::json ids = nlohmann::json::array();
  for (const RunRecord& run : runs) ids.push_back(run.id);
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(path, ignored);
  return Answer({{"bundle", path}, {"bytes", bytes}, {"runs", ids}},
                fmt::format("{}: {} runs, {} KiB\n  next     {} merge {}, where the other store is\n", path,
                            runs.size(), bytes >> 10U, ProgramAsTyped(), path));
}

}  // namespace

HONE_ROW(Verb){
    .name = "bundle",
    .doc = "Write runs into one file that another machine can merge",
    .group = VerbGroup::kRuns,
    .place = 9,
    .help =
        "Everything that the store has of the runs, with their problems: attempts that ended, proposals that wait,\n"
        "what models said. For machines that share no file system, or one on which SQLite cannot lock\n"
        "(docs/machines.md). The file is there whole or not at all.\n"
        "\n"
        "  hone bundle 3fa21c -o run.bundle\n"
        "  hone bundle p.json q.json -o both.bundle\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json = "bundle, bytes, runs[] (ids)",
    .run = RunIt};

}  // namespace hone::verb_bundle
