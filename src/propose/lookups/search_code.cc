// Lines of an indexed tree by words.
#include <nlohmann/json.hpp>

#include "propose/lookup.h"

namespace hone::lookup_search_code {
namespace {

bool Has(const Library& library) { return library.index.has_value(); }

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library& library) {
  return Text(HONE_TRY(library.index->Search(arguments["query"].get<std::string>(), arguments.value("glob", ""),
                                             arguments.value("limit", kUsualHits))));
}

}  // namespace

HONE_ROW(Lookup){
    .name = "search_code",
    .doc =
        "Find lines in the indexed source tree. A file has to have all words of the query; quotes hold words "
        "together; letters' cases are one. Lines with most of the words come first, definitions before uses, each "
        "with the function or type around it.",
    .schema = R"({"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
                  "query": {"type": "string", "minLength": 3},
                  "glob": {"type": "string"},
                  "limit": {"type": "integer", "minimum": 1, "maximum": 100}}})",
    .has = Has,
    .answer = Answer};

}  // namespace hone::lookup_search_code
