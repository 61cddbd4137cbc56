// HONE_GPU(expr): the value of a cuda::Try, or this function returns its Failure. Like HONE_TRY, for what talks to the
// driver.
#pragma once

#include <type_traits>
#include <utility>

#include "base/result.h"
#include "target/cuda/driver.h"

namespace hone::cuda::internal {
template <class T>
T Unwrap(Try<T>& result) {
  return std::move(*result);
}
inline void Unwrap(Try<void>&) {}
}  // namespace hone::cuda::internal

namespace hone::cuda {

// The driver's failure as an error of the world: for whoever has no candidate to blame.
template <class T>
Result<T> FromDevice(Try<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>)
      return {};
    else
      return std::move(*result);
  }
  constexpr int kOutOfMemory = 2;
  return Fail(ErrorKind::kDevice, result.error().code == kOutOfMemory
                                      ? "the device has too little memory for this problem: make it smaller"
                                      : "the device: " + result.error().message);
}

}  // namespace hone::cuda

#define HONE_GPU(expr)                                                     \
  __extension__({                                                          \
    auto try_ = (expr);                                                    \
    if (!try_) return tl::unexpected<::hone::cuda::Failure>(try_.error()); \
    ::hone::cuda::internal::Unwrap(try_);                                  \
  })
