// What a person named and got wrong is theirs to mend, not the world's: exit code 2.
#pragma once

#include <utility>

#include "base/result.h"

namespace hone {

// What has to be there by the name that was given: a run.
template <class T>
Result<T> Named(Result<T> found) {
  if (!found && found.error().kind == ErrorKind::kNotFound) found.error().kind = ErrorKind::kUsage;
  return found;
}

// What was read from a file that was given: one that is missing, cannot be read or says something else.
template <class T>
Result<T> FromInput(Result<T> read) {
  if (read) return read;
  const ErrorKind kind = read.error().kind;
  if (kind == ErrorKind::kNotFound || kind == ErrorKind::kIo || kind == ErrorKind::kCorrupt)
    read.error().kind = ErrorKind::kUsage;
  return read;
}

}  // namespace hone
