// What a source file defines, read lightly: without a compiler, include paths or types. A reader takes any bytes, also
// such as no compiler would, and says what it is sure of; what it misses is missing from find_symbol alone, for texts
// are searched whole.
//
// To add a language, copy languages/python.cc: one file is one language.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row.h"

namespace hone {

struct Symbol {
  std::string name;       // "make_layout"
  std::string kind;       // class, struct, union, enum, function, kernel, alias, concept, macro, program
  std::string scope;      // what it lies in, "cute::detail"; empty: nothing that has a name
  std::string signature;  // its declaration in one line, cut at kLongestSignature bytes
  int line = 0;           // where its name stands, from 1
  int first = 0;          // the lines from its beginning, "template" included ...
  int last = 0;           // ... to its end
};

inline constexpr std::size_t kLongestSignature = 240;
inline constexpr std::size_t kDeepestScope = 200;  // of braces and of #if: what lies deeper is not read on

struct Language {
  std::string_view name;                                            // "cpp"
  std::string_view doc;                                             // what is read and what is missed
  std::span<const std::string_view> suffixes;                       // of file names: ".cuh"
  std::vector<Symbol> (*symbols)(std::string_view text) = nullptr;  // in the order of their lines
};

std::span<const Language* const> AllLanguages();      // sorted by file name
const Language* LanguageOf(std::string_view path);    // by its suffix; null: none of them
std::string Signature(std::string_view declaration);  // spaces and line breaks collapsed, cut

}  // namespace hone
