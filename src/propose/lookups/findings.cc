// What limits an attempt and costs it time, where the question does not say it (--tools offered).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "propose/lookup.h"
#include "propose/prompt.h"

namespace hone::lookup_findings {
namespace {

bool Has(const Library& library) { return library.findings; }

Result<std::string> Answer(const nlohmann::json& arguments, const Question& question, Library&) {
  const int number = arguments.value("attempt", question.parent);
  if (number < 1 || static_cast<std::size_t>(number) > question.history.size())
    return Fail(ErrorKind::kUsage,
                fmt::format("there is no attempt {}; there are {}", number, question.history.size()));
  const Attempt& attempt = *question.history[static_cast<std::size_t>(number) - 1];
  if (!attempt.accepted())
    return Fail(ErrorKind::kUsage, fmt::format("attempt {} was refused: nothing was found", number));
  const std::string text = FindingsText(attempt);
  return text.empty() ? std::string("Nothing was found.\n") : text;
}

}  // namespace

HONE_ROW(Lookup){.name = "findings",
                 .doc =
                     "See what limits an attempt and what costs it time, the most first, with advice. Without a "
                     "number: of the attempt at hand.",
                 .schema = R"({"type": "object", "additionalProperties": false, "properties": {
                  "attempt": {"type": "integer", "minimum": 1}}})",
                 .has = Has,
                 .answer = Answer};

}  // namespace hone::lookup_findings
