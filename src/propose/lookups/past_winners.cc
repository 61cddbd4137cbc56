// What won earlier runs of problems like the one at hand.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "propose/lookup.h"
#include "propose/prompt.h"

namespace hone::lookup_past_winners {
namespace {

bool Has(const Library& library) { return !library.winners.empty(); }

Result<std::string> Answer(const nlohmann::json& arguments, const Question&, Library& library) {
  const auto count = static_cast<int>(library.winners.size());
  const int number = arguments.value("number", 0);
  if (number > count) return Fail(ErrorKind::kUsage, fmt::format("there are {}", count));
  if (number > 0) return library.winners[static_cast<std::size_t>(number) - 1].candidate.text;
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}: {}\n", i + 1, Describe(library.winners[static_cast<std::size_t>(i)]));
  return text;
}

}  // namespace

HONE_ROW(Lookup){.name = "past_winners",
                 .doc =
                     "See which kernels won earlier runs of problems like this one, the most alike first. With a "
                     "number: the whole text of one.",
                 .schema = R"({"type": "object", "additionalProperties": false, "properties": {
                  "number": {"type": "integer", "minimum": 1}}})",
                 .has = Has,
                 .answer = Answer};

}  // namespace hone::lookup_past_winners
