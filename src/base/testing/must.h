// The value of a result in a test; one without a value ends the test with the error's message.
#pragma once

#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace hone::testing {

template <class T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void Must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace hone::testing
