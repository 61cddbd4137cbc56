// The page of the kernel language, by section.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "propose/lookup.h"
#include "propose/sections.h"

namespace hone::lookup_read_language {
namespace {

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library&) {
  const auto sections = SectionsOf(kLanguagePage);
  const std::string wanted = arguments.value("section", "");
  std::vector<std::string_view> titles;
  for (const PageSection& section : sections) {
    if (section.title == wanted) return std::string(section.text);
    titles.push_back(section.title);
  }
  if (!wanted.empty())
    return Fail(ErrorKind::kUsage,
                fmt::format("the page has no section '{}'{}", wanted.substr(0, 60), DidYouMean(wanted, titles)));
  std::string text = "The sections of the page:\n";
  for (const std::string_view title : titles) text += fmt::format("- {}\n", title);
  return text;
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
