#include "target/cpu/diagnostics.h"

#include <charconv>
#include <optional>

namespace hone {
namespace {

struct Place {
  int line = 0, column = 0;
};

// Takes "12:" or "12," off the front of `text`.
int TakeNumber(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() + text.size() || (*end != ':' && *end != ',')) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

// "FILE:12:5: rest" or "FILE:12: rest" anywhere in `line`; `rest` is what follows.
std::optional<Place> FindPlace(std::string_view line, std::string_view file, std::string_view& rest) {
  const auto at = line.find(file);
  if (at == std::string_view::npos) return std::nullopt;
  if (at > 0 && line[at - 1] != ' ' && line[at - 1] != '/') return std::nullopt;  // the end of another name
  rest = line.substr(at + file.size());
  if (rest.empty() || rest.front() != ':') return std::nullopt;
  rest.remove_prefix(1);
  Place place;
  place.line = TakeNumber(rest);
  if (place.line == 0) return std::nullopt;
  place.column = TakeNumber(rest);
  return place;
}

// What an error line says, or nothing.
std::optional<std::string_view> ErrorText(std::string_view line) {
  for (const std::string_view word : {"error: ", "Error: "}) {  // compilers, then the assembler
    const auto at = line.find(word);
    if (at == std::string_view::npos) continue;
    const auto before = line.substr(0, at);
    if (before.ends_with(": ") || before.ends_with(": fatal ") || before.ends_with(": internal compiler ")) {
      return line.substr(at + word.size());
    }
  }
  if (const auto at = line.find("undefined reference to "); at != std::string_view::npos) return line.substr(at);
  if (const auto at = line.find("undefined symbol: "); at != std::string_view::npos) return line.substr(at);
  return std::nullopt;
}

bool IsAfterthought(std::string_view line) {
  return line.starts_with("collect2: error: ld returned") ||
         line.find("linker command failed") != std::string_view::npos;
}

}  // namespace

std::vector<Diagnostic> ParseDiagnostics(std::string_view log, std::string_view file) {
  std::vector<Diagnostic> errors;
  Place origin;  // the line of ours that the next error in a header comes from; 0 = none
  while (!log.empty()) {
    const auto newline = log.find('\n');
    const auto line = log.substr(0, newline);
    log.remove_prefix(newline == std::string_view::npos ? log.size() : newline + 1);
    // Carets and quoted source, "   12 | x = ;", are not messages.
    if (line.empty() || (line.front() == ' ' && line.find("from ") == std::string_view::npos)) continue;
    std::string_view rest;
    const auto place = FindPlace(line, file, rest);
    const auto text = ErrorText(line);
    if (!text) {
      if (place && (line.find("from ") != std::string_view::npos || rest.find("required") != std::string_view::npos)) {
        origin = *place;
      } else if (place && !rest.starts_with(" note:")) {
        origin = {};
      }
      continue;
    }
    if (IsAfterthought(line) && !errors.empty()) continue;
    const auto where = place ? *place : origin;
    errors.push_back({.line = where.line, .column = place ? where.column : 0, .message = std::string(*text)});
    origin = {};
  }
  return errors;
}

}  // namespace hone
