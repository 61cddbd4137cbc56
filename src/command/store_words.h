// The words that a line which says what to do next needs, so that it is about the same store.
#pragma once

#include <string>

namespace hone {

std::string ShellWord(const std::string& word);  // quoted where a shell needs it

// " --store PATH", as a shell takes it; "" where that is the store anyway.
std::string StoreWords(const std::string& path);

}  // namespace hone
