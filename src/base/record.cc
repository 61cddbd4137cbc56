#include "base/record.h"

namespace hone {

std::string_view NameOf(ErrorKind kind) { return Name(kind); }

std::optional<ErrorKind> ParseErrorKind(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::kCorrupt); ++i) {
    if (const auto kind = static_cast<ErrorKind>(i); name == Name(kind)) return kind;
  }
  return std::nullopt;
}

}  // namespace hone
