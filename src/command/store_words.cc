#include "command/store_words.h"

#include <string_view>

#include "command/command.h"

namespace hone {

std::string ShellWord(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string StoreWords(const std::string& path) {
  return path == DefaultStorePath() ? std::string() : " --store " + ShellWord(path);
}

}  // namespace hone
