#include "report/reference_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace hone {
namespace {

// A logical line: it ends where Python's statement does.
struct Line {
  std::size_t indent = 0;
  std::string text;  // without the indentation and comments; may hold newlines
  bool docstring = false;
};

bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the string that begins at `at`; npos if it does not end.
std::size_t StringEnd(std::string_view source, std::size_t at) {
  const char quote = source[at];
  const std::string three(3, quote);
  const bool is_long = source.substr(at, 3) == three;
  for (std::size_t i = at + (is_long ? 3 : 1); i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (is_long ? source.substr(i, 3) == three : source[i] == quote) {
      return i + (is_long ? 3 : 1);
    } else if (!is_long && source[i] == '\n') {
      break;
    }
  }
  return std::string_view::npos;
}

std::optional<std::vector<Line>> LinesOf(std::string_view source) {
  std::vector<Line> lines;
  Line line;
  bool begun = false, only_strings = true;
  int depth = 0;
  const auto end = [&] {
    while (!line.text.empty() && std::isspace(static_cast<unsigned char>(line.text.back()))) line.text.pop_back();
    line.docstring = only_strings;
    if (!line.text.empty()) lines.push_back(line);
    line = {};
    begun = false;
    only_strings = true;
  };
  for (std::size_t i = 0; i < source.size();) {
    const char c = source[i];
    if (!begun && (c == ' ' || c == '\t' || c == '\r')) {
      line.indent += c == ' ' ? 1 : c == '\t' ? 8 - line.indent % 8 : 0;
      ++i;
    } else if (c == '\n') {
      if (depth > 0) {
        line.text += c;
      } else {
        end();
      }
      ++i;
    } else if (c == '#') {
      i = std::min(source.find('\n', i), source.size());
    } else if (c == '\\' && source.substr(i, 2) == "\\\n") {
      line.text += ' ';
      i += 2;
    } else if (c == '"' || c == '\'') {
      const std::size_t after = StringEnd(source, i);
      if (after == std::string_view::npos) return std::nullopt;
      line.text += source.substr(i, after - i);
      i = after;
      begun = true;
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      // r"..." and its like begin with a letter.
      const bool prefix = IsName(c) && i + 1 < source.size() && (source[i + 1] == '"' || source[i + 1] == '\'');
      if (c != ' ' && c != '\t' && c != '\r' && !prefix) only_strings = false;
      line.text += c;
      ++i;
      begun = true;
    }
  }
  end();
  return lines;
}

// The word after `keyword` ("def", "class"), "" if the line is none of these.
std::string NameAfter(const Line& line, std::string_view keyword) {
  if (!line.text.starts_with(keyword) || line.text.size() <= keyword.size() || line.text[keyword.size()] != ' ')
    return "";
  std::size_t at = line.text.find_first_not_of(' ', keyword.size());
  std::string name;
  while (at < line.text.size() && IsName(line.text[at])) name += line.text[at++];
  return name;
}

// The text with some names replaced, but not in strings or after a dot.
std::string Renamed(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '"' || text[i] == '\'') {
      const std::size_t after = std::min(StringEnd(text, i), text.size());
      out += text.substr(i, after - i);
      i = after;
    } else if (IsName(text[i])) {
      std::size_t after = i;
      while (after < text.size() && IsName(text[after])) ++after;
      const std::string word = text.substr(i, after - i);
      const auto found = names.find(word);
      out += found != names.end() && (out.empty() || out.back() != '.') ? found->second : word;
      i = after;
    } else {
      out += text[i++];
    }
  }
  return out;
}

// The names of the parameters in "def forward(self, a: int = 3, *b) -> c:", without the first.
std::vector<std::string> ParametersOf(std::string_view head) {
  std::vector<std::string> names;
  std::string name;
  bool in_name = true, first = true;
  int depth = 0;
  const auto end = [&] {
    if (!first && !name.empty()) names.push_back(name);
    first = false;
    name.clear();
    in_name = true;
  };
  for (std::size_t i = head.find('('); i < head.size(); ++i) {
    const char c = head[i];
    if (c == '(' || c == '[' || c == '{') {
      if (++depth == 1) continue;
    }
    if (c == ')' || c == ']' || c == '}') {
      if (--depth == 0) break;
    }
    if (depth == 1 && c == ',') {
      end();
    } else if (depth == 1 && (c == ':' || c == '=')) {
      in_name = false;
    } else if (in_name && (IsName(c) || c == '*')) {
      name += c;
    }
  }
  end();
  std::erase_if(names, [](const std::string& one) { return one == "*"; });
  return names;
}

// Whether "NAME." is in it.
bool Uses(std::string_view text, const std::string& name) {
  for (std::size_t at = text.find(name + '.'); at != std::string_view::npos; at = text.find(name + '.', at + 1)) {
    if (at == 0 || (!IsName(text[at - 1]) && text[at - 1] != '.')) return true;
  }
  return false;
}

}  // namespace

Result<ReferenceText> ConstructorOnly(const std::string& source, const std::string& name) {
  const auto lines = LinesOf(source);
  if (!lines) return Fail(ErrorKind::kUsage, fmt::format("{}: a string does not end", name));
  std::map<std::string, std::string> names;
  for (const Line& line : *lines) {
    const std::string name_of_class = NameAfter(line, "class");
    const std::string made = line.indent > 0 ? "" : name_of_class.empty() ? NameAfter(line, "def") : name_of_class;
    if (!made.empty()) names[made] = made == "Model" ? "ModelNew" : made + "_";
  }

  ReferenceText result;
  std::string text;
  bool split = false, in_model = false;
  std::optional<std::size_t> without;  // lines deeper than this go
  std::optional<std::size_t> header;   // the indentation of a block that has no statement yet
  std::size_t last = 0;                // the indentation of the line before
  const auto write = [&](std::size_t indent, const std::string& what) {
    if (header && indent <= *header) text += std::string(*header + 4, ' ') + "...\n";
    header.reset();
    const bool defines = what.starts_with("class ") || what.starts_with("def ");
    if (indent == 0 && (defines || last > 0)) {
      text += "\n\n";
    } else if (defines && last > indent) {
      text += '\n';
    }
    last = indent;
    text += std::string(indent, ' ') + what + '\n';
    if (what.ends_with(':')) header = indent;
  };
  for (std::size_t i = 0; i < lines->size(); ++i) {
    const Line& line = (*lines)[i];
    if (without && line.indent > *without) continue;
    without.reset();
    if (line.docstring) continue;
    if (line.indent == 0) in_model = NameAfter(line, "class") == "Model";
    std::string defined = NameAfter(line, "def");
    if (line.text.starts_with("@") && i + 1 < lines->size()) defined = NameAfter((*lines)[i + 1], "def");
    const bool drawn = line.indent == 0 && (defined == "get_inputs" || defined == "get_init_inputs");
    if (drawn || (line.indent == 0 && line.text.starts_with("if __name__"))) {
      if (!line.text.starts_with("@")) without = line.indent;
      continue;
    }
    if (defined != "forward" || line.indent == 0) {
      write(line.indent, line.text == "pass" ? "..." : Renamed(line.text, names));
      continue;
    }
    if (line.text.starts_with("@")) continue;
    const std::size_t colon = line.text.rfind(':');
    const bool one_line = colon + 1 < line.text.size();  // def forward(self, x): return x
    if (!one_line) without = line.indent;
    if (!in_model || split) {
      write(line.indent, "def forward(self, *_):");
      write(line.indent + 4, "raise NotImplementedError");
      continue;
    }
    split = true;
    write(line.indent,
          Renamed(one_line ? line.text.substr(0, line.text.find(':', line.text.rfind(')')) + 1) : line.text, names));
    header.reset();
    last = line.indent + 4;
    result.arguments = ParametersOf(line.text);
    result.indent = std::string(line.indent + 4, ' ');
    result.before = std::exchange(text, "");
  }
  if (header) text += std::string(*header + 4, ' ') + "...\n";
  if (!split) return Fail(ErrorKind::kUsage, fmt::format("{} has no class Model with a method forward", name));
  result.after = std::move(text);
  // What only the forwards needed.
  constexpr std::string_view kFunctional = "import torch.nn.functional as F\n";
  const std::size_t import = result.before.find(kFunctional);
  if (import != std::string::npos && !Uses(result.before, "F") && !Uses(result.after, "F"))
    result.before.erase(import, kFunctional.size());
  return result;
}

}  // namespace hone
