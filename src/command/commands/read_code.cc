// hone read-code: lines of a file of an indexed tree.
#include <nlohmann/json.hpp>

#include "command/code_index_option.h"
#include "command/command.h"

namespace hone::verb_read_code {
namespace {

constexpr Positional kPositionals[] = {{.name = "file", .help = "its path in the tree, as search-code has it"},
                                       {.name = "lines",
                                        .help = "120-180, or 120 for what begins there (default: from the first on)",
                                        .presence = Presence::kOptional}};
constexpr Option kOptions[] = {kIndexOption, kStoreOption};

Result<Answer> RunIt(VerbCall& call) {
  const auto [first, last] = HONE_TRY(ParseLines(call.Text("lines")));
  CodeIndex index = HONE_TRY(OpenIndex(call));
  const CodeLines lines = HONE_TRY(index.Read(call.Text("file"), first, last));
  return Answer(ToDocument(lines), Text(lines));
}

}  // namespace

HONE_ROW(Verb){
    .name = "read-code",
    .doc = "Print lines of a file of an indexed tree",
    .group = VerbGroup::kCode,
    .place = 3,
    .help =
        "At most 400 lines at once, of 240 bytes each. They come from the index: the file as it was then,\n"
        "and no file that the index does not have.\n",
    .positionals = kPositionals,
    .options = kOptions,
    .json =
        "path, first, last, lines (of the whole file), text, next (the line to go on with, null at its end), changed\n"
        "(the tree has another file there by now, or none).",
    .run = RunIt,
    .only_reads = true,
};

}  // namespace hone::verb_read_code
