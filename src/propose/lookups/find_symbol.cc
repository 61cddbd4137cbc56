// Where an indexed tree defines something.
#include <nlohmann/json.hpp>

#include "propose/lookup.h"

namespace hone::lookup_find_symbol {
namespace {

bool Has(const Library& library) { return library.index.has_value(); }

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library& library) {
  return Text(HONE_TRY(library.index->Find(arguments["name"].get<std::string>(), arguments.value("kind", ""),
                                           arguments.value("limit", kUsualHits))));
}

}  // namespace

HONE_ROW(Lookup){
    .name = "find_symbol",
    .doc =
        "Find where the indexed source tree defines a type, function, kernel, alias, concept or macro, with its "
        "declaration and lines: Layout, cute::Layout, or a part of a name.",
    .schema = R"({"type": "object", "additionalProperties": false, "required": ["name"], "properties": {
                  "name": {"type": "string", "minLength": 1},
                  "kind": {"enum": ["class", "struct", "union", "enum", "function", "kernel", "alias", "concept",
                                    "macro", "program"]},
                  "limit": {"type": "integer", "minimum": 1, "maximum": 100}}})",
    .has = Has,
    .answer = Answer};

}  // namespace hone::lookup_find_symbol
