#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/result.h"

namespace hone {

void CheckFailed(const char* condition, std::string_view message, const char* file, int line) {
  std::fprintf(stderr, "hone: a bug in hone: %.*s (%s at %s:%d). Please report it with the command that you ran.\n",
               static_cast<int>(message.size()), message.data(), condition, file, line);
  std::abort();
}

const char* Name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage: return "usage";
    case ErrorKind::kNotFound: return "not_found";
    case ErrorKind::kIo: return "io";
    case ErrorKind::kTimeout: return "timeout";
    case ErrorKind::kInterrupted: return "interrupted";
    case ErrorKind::kTool: return "tool";
    case ErrorKind::kDevice: return "device";
    case ErrorKind::kSpent: return "spent";
    case ErrorKind::kCorrupt: return "corrupt";
  }
  return "unknown";
}

}  // namespace hone
