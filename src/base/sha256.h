// SHA-256, by which problems, sources and logs are named.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

std::string Sha256(std::string_view bytes);  // 64 lower-case hex digits

// Of a file's content, read in pieces. kNotFound or kIo if it cannot be read.
Result<std::string> Sha256OfFile(const std::string& path);

}  // namespace hone
