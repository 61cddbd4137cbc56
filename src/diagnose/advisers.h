// Who says what the facts of a candidate mean: --tools.
//
//   none     nobody: facts and classes alone
//   raw      the facts themselves: the largest share asks for the setting that it is named after (raw.h)
//   on       hone's rules
//   offered  hone's rules, for a language model that asks for what they find (propose/lookup.h)
//   DIR      hone's rules, and the executables of that folder (tools.h)
//
// In a run whose advisers are raw, on or a folder, the expert acts on what they find. Who writes texts is handed what
// they find; where nobody was named, what hone's rules find. A plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "diagnose/diagnose.h"

namespace hone {

struct Advisers {
  enum class Kind : std::uint8_t { kUnnamed, kNone, kRaw, kOffered, kOn };
  Kind kind = Kind::kUnnamed;
  std::string folder = {};  // of executables that are asked, too; with kOn

  // "none", "raw", "offered", "on", or a folder's path; kUsage where there is no such folder.
  static Result<Advisers> Parse(std::string_view words);
  std::string Text() const;  // as Parse reads it; empty where nobody was named

  bool expert_acts() const { return kind == Kind::kRaw || kind == Kind::kOn; }
  // Whether a question shows what was found, and whether it says what that means.
  bool handed() const { return kind != Kind::kNone && kind != Kind::kOffered; }
  bool explained() const { return handed() && kind != Kind::kRaw; }
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
