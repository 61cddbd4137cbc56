// A check that our own code is right. On in every build: a broken program must not fill the run store.
// Never reachable from user or model input; those get a Result or a Verdict.
#pragma once

#include <string_view>

namespace hone {

[[noreturn]] void CheckFailed(const char* condition, std::string_view message, const char* file, int line);

}  // namespace hone

#define HONE_CHECK(condition, message)                              \
  do {                                                              \
    if (!(condition)) [[unlikely]]                                  \
      ::hone::CheckFailed(#condition, message, __FILE__, __LINE__); \
  } while (false)
