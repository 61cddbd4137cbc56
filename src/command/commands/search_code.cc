// hone search-code: lines of an indexed tree that have some words.
#include <nlohmann/json.hpp>

#include "command/code_index_option.h"
#include "command/command.h"

namespace hone::verb_search_code {
namespace {

constexpr Positional kPositionals[] = {{.name = "query", .help = "words; quotes hold some together"}};
constexpr Option kOptions[] = {
    {.name = "glob", .value = "PATHS", .help = "only in files such as cute/arch/*: * is any letters, / among them"},
    {.name = "limit",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "lines at most, up to 100",
     .otherwise = "20",
     .at_least = 1},
    kIndexOption,
    kStoreOption};

Result<Answer> RunIt(VerbCall& call) {
  CodeIndex index = HONE_TRY(OpenIndex(call));
  const CodeHits hits = HONE_TRY(index.Search(call.Text("query"), call.Text("glob"), LimitOf(call)));
  return Answer(ToDocument(hits), Text(hits), hits.hits.empty() ? ExitCode::kNo : ExitCode::kDone);
}

}  // namespace

HONE_ROW(Verb){
    .name = "search-code",
    .doc = "Find lines in an indexed tree by words",
    .group = VerbGroup::kCode,
    .place = 2,
    .help =
        "A file has to have all the words, in letters of any case; lines with most of them come first,\n"
        "and those that define one before those that use it. Five lines of a file at most.\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "hits[], best first: path, line, text, within (null, or the innermost symbol: name, kind, scope, signature,\n"
        "line, first, last); more (there are others).",
    .no = "no line has these words",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_search_code
