// Tokens of a .hk text. Newlines mean nothing; a comment runs from # to the end of its line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/program.h"

namespace hone::dsl {

struct Token {
  enum class Kind : std::uint8_t { kWord, kQuoted, kNumber, kTuple, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text;   // into the source; kQuoted: the word, without its quotes
  double number = 0;       // kNumber
  std::int64_t whole = 0;  // kNumber without point or exponent
  bool is_whole = false;
  std::vector<std::int64_t> parts;  // kTuple: 64x256x7
  Position at;
};

// Whether the word means something by itself: it, inf and nan. As a name it is written in quotes.
bool HasMeaning(std::string_view word);

// All tokens, the last one kEnd; or what cannot be read. The tokens point into `text`.
std::variant<std::vector<Token>, Complaint> Lex(std::string_view text);

}  // namespace hone::dsl
