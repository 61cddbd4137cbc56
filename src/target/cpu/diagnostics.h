// Reads what g++ and clang++ say in plain text.
#pragma once

#include <string_view>
#include <vector>

#include "target/cpu/compiler.h"

namespace hone {

// The errors in `log`, in its order, without warnings and notes. An error inside a header is placed at the line of
// `file` that led to it (by an #include or an instantiation). Errors without a place, such as the linker's, have line
// 0.
std::vector<Diagnostic> ParseDiagnostics(std::string_view log, std::string_view file);

}  // namespace hone
