#include "base/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <charconv>
#include <optional>

#include "base/check.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hone {
namespace {

constexpr std::size_t kDigits = 16;  // of a file's SHA-256: enough to tell files of one person apart

const Parameter* Named(std::span<const Parameter> declared, std::string_view words) {
  for (const Parameter& one : declared) {
    if (words.size() > one.name.size() && words.starts_with(one.name) && words[one.name.size()] == '=') return &one;
  }
  return nullptr;
}

// Up to the comma before the next parameter's name: a file's name may hold commas itself.
std::string_view FirstPiece(std::span<const Parameter> declared, std::string_view words) {
  for (std::size_t at = words.find(','); at != std::string_view::npos; at = words.find(',', at + 1)) {
    if (Named(declared, words.substr(at + 1))) return words.substr(0, at);
  }
  return words;
}

// "root" of "0.2,root=3"; all of it where it names nothing.
std::string_view NameIn(std::string_view piece) {
  const std::size_t end = piece.find('=');
  if (end == std::string_view::npos) return piece;
  const std::size_t comma = piece.rfind(',', end), begin = comma == std::string_view::npos ? 0 : comma + 1;
  return piece.substr(begin, end - begin);
}

// No number begins so: it is a name that nobody knows.
bool IsMisnamed(const Parameter& first, std::string_view name) {
  const bool number = first.type == Parameter::Type::kInteger || first.type == Parameter::Type::kReal;
  return number && !name.empty() && std::isalpha(static_cast<unsigned char>(name.front())) && name != "nan" &&
         name != "inf";
}

std::string Limits(const Parameter& one) {
  const std::string_view kind = one.type == Parameter::Type::kInteger ? "a whole number" : "a number";
  if (one.at_most < std::numeric_limits<double>::max())
    return fmt::format("{} from {} to {}", kind, one.at_least, one.at_most);
  if (one.at_least > std::numeric_limits<double>::lowest()) return fmt::format("{} from {} on", kind, one.at_least);
  return std::string(kind);
}

template <class Number>
std::optional<Number> Parsed(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The value as it is kept, and as the identity spells it.
struct Reading {
  std::string value, identity;
};

Result<Reading> Read(std::string_view who, const Parameter& one, const std::string& value) {
  if (one.type == Parameter::Type::kFile) {
    Result<std::string> content = ReadFile(value);
    if (!content) return Fail(ErrorKind::kUsage, fmt::format("{}: {}: {}", who, one.name, content.error().message));
    return Reading{*content, Sha256(*content).substr(0, kDigits)};
  }
  if (one.type == Parameter::Type::kFolder || one.type == Parameter::Type::kWord) return Reading{value, value};
  std::optional<double> number;
  std::string spelled;
  if (one.type == Parameter::Type::kReal) {
    number = Parsed<double>(value);
    if (number) spelled = fmt::format("{}", *number);
  } else if (const std::optional<std::int64_t> whole = Parsed<std::int64_t>(value)) {
    number = static_cast<double>(*whole);
    spelled = fmt::format("{}", *whole);
  }
  // Written so that not-a-number is refused.
  if (!number || !(*number >= one.at_least && *number <= one.at_most))
    return Fail(ErrorKind::kUsage, fmt::format("{}: {} is {}, not '{}'", who, one.name, Limits(one), value));
  return Reading{spelled, spelled};
}

}  // namespace

Result<Parameters> Parameters::Parse(std::string_view who, std::span<const Parameter> declared,
                                     std::string_view words) {
  std::map<std::string_view, std::string> given;
  while (!words.empty()) {
    const std::string_view piece = FirstPiece(declared, words);
    const Parameter* named = Named(declared, piece);
    if (!named && declared.empty())
      return Fail(ErrorKind::kUsage, fmt::format("{} takes no parameters, so not '{}'", who, piece));
    if (const std::string_view name = NameIn(piece); !named && (!given.empty() || IsMisnamed(declared.front(), name))) {
      std::vector<std::string_view> names;
      for (const Parameter& one : declared) names.push_back(one.name);
      return Fail(ErrorKind::kUsage, fmt::format("{} has no parameter '{}'{}; known are {}", who, name,
                                                 DidYouMean(name, names), fmt::join(names, ", ")));
    }
    const Parameter& one = named ? *named : declared.front();
    const std::string_view value = named ? piece.substr(one.name.size() + 1) : piece;
    if (!given.emplace(one.name, value).second)
      return Fail(ErrorKind::kUsage, fmt::format("{}: {} is given twice", who, one.name));
    words.remove_prefix(std::min(words.size(), piece.size() + 1));
  }
  Parameters parameters;
  for (const Parameter& one : declared) {
    const auto found = given.find(one.name);
    const std::string value = found != given.end() ? found->second : std::string(one.otherwise);
    if (value.empty()) return Fail(ErrorKind::kUsage, fmt::format("{} needs {}: {}", who, one.name, one.help));
    Reading reading = HONE_TRY(Read(who, one, value));
    parameters.values_.emplace(one.name, std::move(reading.value));
    if (one.later && reading.identity == HONE_TRY(Read(who, one, std::string(one.otherwise))).identity) continue;
    parameters.identity_ += fmt::format("{}{}={}", parameters.identity_.empty() ? "" : ",", one.name, reading.identity);
  }
  return parameters;
}

const std::string& Parameters::Value(std::string_view name) const {
  const auto found = values_.find(name);
  HONE_CHECK(found != values_.end(), "a parameter that its row does not declare");
  return found->second;
}

double Parameters::Real(std::string_view name) const { return Parsed<double>(Value(name)).value(); }
std::int64_t Parameters::Integer(std::string_view name) const { return Parsed<std::int64_t>(Value(name)).value(); }
const std::string& Parameters::File(std::string_view name) const { return Value(name); }
const std::string& Parameters::Folder(std::string_view name) const { return Value(name); }
const std::string& Parameters::Word(std::string_view name) const { return Value(name); }

Result<std::size_t> ChooseName(std::string_view kind, const std::vector<std::string_view>& names,
                               std::string_view words) {
  const std::string_view name = words.substr(0, words.find(':'));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  return Fail(ErrorKind::kUsage, fmt::format("there is no {} '{}'{}; known are {}", kind, name, DidYouMean(name, names),
                                             fmt::join(names, ", ")));
}

ChoiceHelp HelpOn(std::string_view name, std::string_view doc, std::span<const Parameter> parameters) {
  ChoiceHelp help{std::string(name), std::string(doc)};
  for (const Parameter& one : parameters) {
    std::string value(one.otherwise);
    if (value.empty()) {
      for (const char c : one.name) value += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    help.words += &one == &parameters.front() ? fmt::format(":{}", value) : fmt::format(",{}={}", one.name, value);
    help.help += fmt::format("; {}: {}", one.name, one.help);
  }
  return help;
}

}  // namespace hone
