// Who says what the facts of a candidate mean: --tools.
//
//   none   nobody: facts and classes alone
//   raw    the facts themselves: the largest share asks for the setting that it is named after (raw.h)
//   on     hone's rules
//   DIR    hone's rules, and the executables of that folder (tools.h)
//
// In a run whose advisers are not none, the expert acts on what they find. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "diagnose/diagnose.h"

namespace hone {

struct Advisers {
  enum class Kind : std::uint8_t { kNone, kRaw, kOn };
  Kind kind = Kind::kNone;
  std::string folder = {};  // of executables that are asked, too; with kOn

  // "none", "raw", "on", or a folder's path; kUsage where there is no such folder.
  static Result<Advisers> Parse(std::string_view words);
  std::string Text() const;  // as Parse reads it
  bool operator==(const Advisers&) const = default;
};

inline constexpr std::string_view kAdvisersHelp =
    "who says what the facts mean: none, raw (the facts themselves), on (hone's rules), or a folder whose executables "
    "are asked, too (docs/tools.md)";

// What they find, ranked. What went wrong with tools is in `wrong`, a line each, and is no failure; fails as AskTools
// does.
struct Advised {
  Diagnosis diagnosis;
  struct Tool {
    std::string name;
    std::size_t findings = 0;
    std::string wrong;
  };
  std::vector<Tool> tools;  // of the folder, by name
};
Result<Advised> AskAdvisers(const Advisers& advisers, std::vector<Profile> profiles);

}  // namespace hone
