// Lines of a file of an indexed tree.
#include <nlohmann/json.hpp>

#include "propose/lookup.h"

namespace hone::lookup_read_code {
namespace {

bool Has(const Library& library) { return library.index.has_value(); }

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library& library) {
  const auto [first, last] = HONE_TRY(ParseLines(arguments.value("lines", "")));
  return Text(HONE_TRY(library.index->Read(arguments["file"].get<std::string>(), first, last)));
}

}  // namespace

HONE_ROW(Lookup){.name = "read_code",
                 .doc =
                     "Read lines of a file of the indexed source tree, by the path that search_code or find_symbol "
                     "gave; lines as 120-180, at most 400 at once.",
                 .schema = R"({"type": "object", "additionalProperties": false, "required": ["file"], "properties": {
                  "file": {"type": "string", "minLength": 1},
                  "lines": {"type": "string"}}})",
                 .has = Has,
                 .answer = Answer};

}  // namespace hone::lookup_read_code
