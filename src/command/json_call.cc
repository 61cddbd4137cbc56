// A call of a verb as JSON, as those have it that are no command line.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "command/command.h"

namespace hone {
namespace {

using Json = nlohmann::json;

tl::unexpected<Error> Usage(const Verb& verb, std::string_view name, std::string_view message) {
  return Fail(ErrorKind::kUsage, fmt::format("{}: argument \"{}\" {}", verb.name, name, message));
}

// A text that a command line can carry.
Result<std::string> Word(const Verb& verb, std::string_view name, const Json& value) {
  const std::string* text = value.get_ptr<const std::string*>();
  if (!text) return Usage(verb, name, fmt::format("has to be a text, not {}", value.type_name()));
  if (text->find('\0') != text->npos) return Usage(verb, name, "holds a zero byte, which no argument can");
  return *text;
}

Result<std::vector<std::string>> Words(const Verb& verb, std::string_view name, const Json& value) {
  if (value.is_string()) return std::vector{HONE_TRY(Word(verb, name, value))};
  if (!value.is_array()) return Usage(verb, name, fmt::format("has to be a list of texts, not {}", value.type_name()));
  std::vector<std::string> words;
  for (const Json& one : value) words.push_back(HONE_TRY(Word(verb, name, one)));
  return words;
}

Result<void> AddOption(const Verb& verb, const Option& option, const Json& value, std::vector<std::string>& line) {
  switch (option.type) {
    case ValueType::kFlag:
      if (!value.is_boolean()) return Usage(verb, option.name, "has to be true or false");
      if (value.get<bool>()) line.push_back(fmt::format("--{}", option.name));
      return {};
    case ValueType::kInteger:
      if (!value.is_number_integer()) return Usage(verb, option.name, "has to be a whole number");
      break;
    case ValueType::kReal:
      if (!value.is_number()) return Usage(verb, option.name, "has to be a number");
      break;
    case ValueType::kText:
      if (!option.repeats)
        line.push_back(fmt::format("--{}={}", option.name, HONE_TRY(Word(verb, option.name, value))));
      if (!option.repeats) return {};
      for (const std::string& word : HONE_TRY(Words(verb, option.name, value)))
        line.push_back(fmt::format("--{}={}", option.name, word));
      return {};
  }
  line.push_back(fmt::format("--{}={}", option.name, value.dump()));
  return {};
}

}  // namespace

Result<std::vector<std::string>> ArgumentsOf(const Verb& verb, const Json& arguments) {
  std::vector<std::string> line;
  std::vector<std::string_view> known;
  for (const Positional& positional : verb.positionals) known.push_back(positional.name);
  for (const Option& option : verb.options) known.push_back(option.name);
  for (const auto& [name, value] : arguments.items()) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return Fail(ErrorKind::kUsage,
                  fmt::format("{} has no argument \"{}\"{}", verb.name, name, DidYouMean(name, known)));
  }
  const auto given = [&](std::string_view name) -> const Json* {
    const auto found = arguments.find(name);
    return found == arguments.end() || found->is_null() ? nullptr : &*found;
  };

  for (const Option& option : verb.options) {
    if (const Json* value = given(option.name)) HONE_TRY(AddOption(verb, option, *value, line));
  }
  line.emplace_back("--");
  std::string_view missing;
  for (const Positional& positional : verb.positionals) {
    const Json* value = given(positional.name);
    if (!value) {
      if (positional.presence == Presence::kRequired)
        return Usage(verb, positional.name, fmt::format("is missing: {}", positional.help));
      if (missing.empty()) missing = positional.name;
      continue;
    }
    // What it is follows from its place alone.
    if (!missing.empty())
      return Usage(verb, missing, fmt::format("is missing, without which \"{}\" has no place", positional.name));
    if (positional.presence == Presence::kRepeated) {
      for (std::string& word : HONE_TRY(Words(verb, positional.name, *value))) line.push_back(std::move(word));
    } else {
      line.push_back(HONE_TRY(Word(verb, positional.name, *value)));
    }
  }
  return line;
}

}  // namespace hone
