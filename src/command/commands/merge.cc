// hone merge: what a bundle has of runs, taken over into the store.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "command/command.h"
#include "search/bundle.h"

namespace hone::verb_merge {
namespace {

constexpr Positional kPositionals[] = {{.name = "file", .help = "a bundle, of `hone bundle`", .reads = true}};
constexpr Option kOptions[] = {kStoreOption};

Result<Answer> RunIt(VerbCall& call) {
  Store store = HONE_TRY(Store::Open(StorePath(call)));
  const std::string path = call.Text("file");
  const Written written = HONE_TRY(MergeBundle(store, path));
  return Answer({{"bundle", path},
                 {"store", store.path()},
                 {"created", written.created},
                 {"changed", written.changed},
                 {"unchanged", written.unchanged}},
                fmt::format("{}: {} runs are new here, {} got something, {} had all of it\n", path, written.created,
                            written.changed, written.unchanged));
}

}  // namespace

HONE_ROW(Verb){
    .name = "merge",
    .doc = "Take over what a bundle has of runs",
    .group = VerbGroup::kRuns,
    .place = 10,
    .help =
        "Runs are found by what they are of and when they were made, whatever their ids. Merging a bundle twice, or\n"
        "several in another order, makes no difference, and nothing is lost that one machine did alone. Where two\n"
        "machines tried different things in one run, the longer list of attempts stays, and where two lists part the\n"
        "one that went on first (docs/machines.md). A bundle that is damaged is refused whole.\n"
        "\n"
        "  hone merge run.bundle\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json = "bundle, store, created, changed, unchanged (so many runs)",
    .run = RunIt};

}  // namespace hone::verb_merge
