// HONE_GPU(expr): the value of a cuda::Try, or this function returns its Failure. Like HONE_TRY, for what talks to the
// driver.
#pragma once

#include <utility>

#include "target/cuda/driver.h"

namespace hone::cuda::internal {
template <class T>
T Unwrap(Try<T>& result) {
  return std::move(*result);
}
inline void Unwrap(Try<void>&) {}
}  // namespace hone::cuda::internal

#define HONE_GPU(expr)                                                     \
  __extension__({                                                          \
    auto try_ = (expr);                                                    \
    if (!try_) return tl::unexpected<::hone::cuda::Failure>(try_.error()); \
    ::hone::cuda::internal::Unwrap(try_);                                  \
  })
