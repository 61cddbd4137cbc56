// How hone says that the world failed: a Result<T> is a T or the Error that explains why there is none.
// A bad candidate is not an error (see verdict/verdict.h), and our own bug is a HONE_CHECK (base/check.h).
#pragma once

#include <source_location>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace hone {

// What the caller can do about a failure, never where it happened.
enum class ErrorKind {
  kUsage,        // the user's words are off: say so and stop, exit code 2
  kNotFound,     // a file, a tool or a row is absent
  kIo,           // reading or writing failed
  kTimeout,      // a time limit ran out
  kInterrupted,  // somebody wants it to end (base/interrupt.h): nothing is wrong
  kTool,         // a compiler, interpreter or sandbox that we called failed
  kDevice,       // the device is lost or unfit
  kSpent,        // what the user allows to spend is spent
  kCorrupt,      // data that should be ours is not what we wrote
};

const char* Name(ErrorKind kind);

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::kTool;
  std::string message;  // one line for a person: what, where, the mend
  std::source_location where;
};

template <class T>
using Result = tl::expected<T, Error>;

// return Fail(ErrorKind::kIo, "cannot read p.json: no such file");
inline tl::unexpected<Error> Fail(ErrorKind kind, std::string message,
                                  std::source_location where = std::source_location::current()) {
  return tl::unexpected<Error>(Error{kind, std::move(message), where});
}

// The same failure with words of the caller before it: "cannot import model.py: ...".
inline tl::unexpected<Error> Rethrow(Error error, const std::string& prefix) {
  error.message = prefix + error.message;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace hone

// The value of a Result, or return its error from this function. Works for Result<void> and move-only values, and
// within another one.
#define HONE_TRY(expr) HONE_TRY_NAMED(HONE_TRY_NAME(__COUNTER__), expr)
#define HONE_TRY_NAMED(name, expr)                                   \
  __extension__({                                                    \
    auto name = (expr);                                              \
    if (!name) [[unlikely]]                                          \
      return tl::unexpected<::hone::Error>(std::move(name).error()); \
    ::hone::internal::Unwrap(name);                                  \
  })
#define HONE_TRY_NAME(number) HONE_TRY_JOINED(hone_try_, number)
#define HONE_TRY_JOINED(a, b) a##b

namespace hone::internal {
template <class T>
T Unwrap(tl::expected<T, Error>& result) {
  return std::move(*result);
}
inline void Unwrap(tl::expected<void, Error>&) {}
}  // namespace hone::internal
