// Texts: words that people type and mistype, and words in sources. No state; safe from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace hone {

// How many letters must be added, dropped, changed or swapped with their neighbour to make one of the other.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The end of an error message about an unknown word: "; did you mean 'softmax'?", or "" when nothing known is near
// enough (a third of the word's letters, at least 1).
std::string DidYouMean(std::string_view word, std::span<const std::string_view> known);

// How often `word`, which is not empty, stands in the text.
int CountOf(std::string_view text, std::string_view word);

// Without control characters, those of UTF-8's second set included, but line breaks and tabs; each of them becomes '?':
// what a foreign program says ends in JSON and on terminals.
std::string Printable(std::string text);

// The last line that holds something, without its end: a program's last words.
std::string LastLine(std::string_view text);

// How a name that a user gave (to a tensor, an index, a let) is spelled in the C++ and CUDA that we write: "t_x". No
// name of ours, of a language's or of a library's that this text uses begins with t_ and a letter or _, so that it
// hides nothing and nothing hides it.
std::string Spelled(std::string_view name);

}  // namespace hone
