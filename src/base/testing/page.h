// A page of docs/, for tests that hold what it lists against the program's tables.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace hone::testing {

// "language.md" as it lies in the sources (HONE_SOURCE); empty if it is not there.
inline std::string Page(const std::string& name) {
  const char* root = std::getenv("HONE_SOURCE");
  const Result<std::string> text = ReadFile(std::string(root ? root : ".") + "/docs/" + name);
  return text ? *text : "";
}

// What stands below a heading, "## Functions", up to the next one of its rank or above it; empty if there is none.
inline std::string Section(const std::string& page, const std::string& heading) {
  const std::size_t at = page.find(heading + "\n");
  if (at == std::string::npos) return "";
  const std::size_t rank = heading.find(' ');
  std::size_t end = page.size();
  for (std::size_t next = page.find("\n#", at); next != std::string::npos; next = page.find("\n#", next + 1)) {
    if (page.find(' ', next) - next - 1 > rank) continue;
    end = next;
    break;
  }
  return page.substr(at, end - at);
}

// The first column of the table that begins with these cells, "knob | what it sets", in the order of its rows, without
// backquotes; empty if there is no such table.
inline std::vector<std::string> FirstColumn(const std::string& text, const std::string& header) {
  std::vector<std::string> column;
  std::size_t at = text.find("| " + header + " |\n");
  if (at == std::string::npos) return column;
  at = text.find('\n', text.find('\n', at) + 1) + 1;  // behind the line of dashes
  for (; text.substr(at, 2) == "| "; at = text.find('\n', at) + 1) {
    std::string cell = text.substr(at + 2, text.find(" |", at + 2) - at - 2);
    std::erase(cell, '`');
    column.push_back(std::move(cell));
    if (text.find('\n', at) == std::string::npos) break;
  }
  return column;
}

}  // namespace hone::testing
