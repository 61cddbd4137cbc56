// The page of the kernel language, by section.
#include <nlohmann/json.hpp>

#include "propose/lookup.h"
#include "propose/sections.h"

namespace hone::lookup_read_language {
namespace {

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library&) {
  return SectionNamed(kLanguagePage, arguments.value("section", ""));
}

}  // namespace

HONE_ROW(Lookup){.name = "read_language",
                 .doc =
                     "Read a section of the page of the kernel language, in which programs are written: Grammar, "
                     "Functions, or a family such as matmul or softmax. Without a section: which there are.",
                 .schema = R"({"type": "object", "additionalProperties": false, "properties": {
                  "section": {"type": "string"}}})",
                 .answer = Answer};

}  // namespace hone::lookup_read_language
