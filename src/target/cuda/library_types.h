// What plans call types and arithmetic, as library_calls.h names them, and its failures as ours.
#pragma once

#include <string>
#include <utility>

#include "base/dtype.h"
#include "candidate/plan.h"
#include "target/cuda/driver.h"
#include "target/cuda/library_calls.h"

namespace hone::cuda {

inline hone_library::Type LibraryType(DType dtype) {
  return dtype == DType::kF64    ? hone_library::kF64
         : dtype == DType::kF16  ? hone_library::kF16
         : dtype == DType::kBF16 ? hone_library::kBF16
                                 : hone_library::kF32;
}

inline hone_library::Compute LibraryComputeOf(LibraryCompute compute) {
  switch (compute) {
    case LibraryCompute::kF32: return hone_library::kInF32;
    case LibraryCompute::kTf32: return hone_library::kInTf32;
    case LibraryCompute::kF16: return hone_library::kInF16;
    case LibraryCompute::kBf16: return hone_library::kInBf16;
    case LibraryCompute::kF64: return hone_library::kInF64;
  }
  return hone_library::kInF32;
}

inline hone_library::End LibraryEnd(Activation activation) {
  return activation == Activation::kRelu   ? hone_library::kRelu
         : activation == Activation::kGelu ? hone_library::kGelu
                                           : hone_library::kNoEnd;
}

inline Failure FailureOf(hone_library::Status status, const std::string& where) {
  constexpr int kOutOfMemory = 2, kNone = -1;  // the driver's number for it, and one that it does not have
  return {status.out_of_memory ? kOutOfMemory : kNone, where + std::move(status.error)};
}

}  // namespace hone::cuda

// This function returns the Failure, behind `where`, of a hone_library::Status that failed.
#define HONE_LIBRARY(call, where)                                                                       \
  do {                                                                                                  \
    if (hone_library::Status status_ = (call); status_.failed())                                        \
      return tl::unexpected<::hone::cuda::Failure>(::hone::cuda::FailureOf(std::move(status_), where)); \
  } while (false)
