// C++ and CUDA C++ as words, without comments; what the preprocessor would do is left undone. No state.
#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct CppToken {
  enum class Kind {
    kName,   // identifiers and keywords
    kOther,  // numbers, strings, and each sign for itself but ::
    kMacro,  // all of a #define; `text` is the name
    kIf,     // #if, #ifdef, #ifndef
    kElse,   // #else, #elif
    kEndif,
  };
  Kind kind = Kind::kOther;
  std::string_view text;  // part of what was read
  int line = 0;           // where it begins, from 1
  int last_line = 0;      // where it ends
  bool spaced = false;    // white space stands before it
};

std::vector<CppToken> CppTokens(std::string_view text);

}  // namespace hone
