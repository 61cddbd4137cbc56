// hone find-symbol: where an indexed tree defines something.
#include <nlohmann/json.hpp>

#include "command/code_index_option.h"
#include "command/command.h"

namespace hone::verb_find_symbol {
namespace {

constexpr Positional kPositionals[] = {{.name = "name", .help = "Layout, cute::Layout, or a part of a name"}};
constexpr Option kOptions[] = {
    {.name = "kind",
     .value = "KIND",
     .help = "only class, struct, union, enum, function, kernel, alias, concept, macro or program"},
    {.name = "limit",
     .type = ValueType::kInteger,
     .value = "N",
     .help = "symbols at most, up to 100",
     .otherwise = "20",
     .at_least = 1},
    kIndexOption,
    kStoreOption};

Result<Answer> RunIt(VerbCall& call) {
  CodeIndex index = HONE_TRY(OpenIndex(call));
  const SymbolHits hits = HONE_TRY(index.Find(call.Text("name"), call.Text("kind"), LimitOf(call)));
  return Answer(ToDocument(hits), Text(hits), hits.hits.empty() ? ExitCode::kNo : ExitCode::kDone);
}

}  // namespace

HONE_ROW(Verb){
    .name = "find-symbol",
    .doc = "Find where an indexed tree defines a type, a function, a macro",
    .group = VerbGroup::kCode,
    .place = 4,
    .help = "Those of that name; where there are none, those whose names hold it. `hone index` says what is read.\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "symbols[]: path, name, kind, scope, signature, line, first, last; exact (they have that name, and do not "
        "just\n"
        "hold it); more (there are others).",
    .no = "there is none",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_find_symbol
