// How much faster a time can become before its bound, as what is to be gained is added up: a logarithm. No state.
#pragma once

#include <algorithm>
#include <cmath>

namespace hone {

inline constexpr double kUnknownHeadroom = 0.693147180559945;  // ln 2: without a bound twice as fast is thinkable

// ln(us / bound_us), no less than 0; where either is not known (<= 0), kUnknownHeadroom.
inline double HeadroomOf(double us, double bound_us) {
  return us > 0 && bound_us > 0 ? std::max(0.0, std::log(us / bound_us)) : kUnknownHeadroom;
}

}  // namespace hone
