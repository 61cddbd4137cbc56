// What an element of an output is beside what is expected of it, and what many of them add up to: once, for the host
// (compare.cc) and for a device (device_code/judge.cu). Plain C++ without library headers: device code includes this
// file too, behind base/device_std.h.
#pragma once

#ifndef __CUDACC_RTC__
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#endif

namespace hone {

// Results in the last bits of the smallest numbers carry an absolute error of about one such bit.
inline constexpr double kTinyError = 0x1p-149;

// How far from what is expected an element of this scale may be.
inline double BudgetOf(double factor, double scale) { return scale > 0 ? factor * scale + kTinyError : 0; }

// Of some elements; OutputCheck (compare.h) says what the counts mean. Of the same layout on host and device.
struct PartCheck {
  std::int64_t wrong = 0, unwritten = 0, nonfinite = 0, zero = 0;
  std::int64_t worst = -1;                   // the wrong element with the largest ratio, the first of several
  double expected = 0, got = 0, budget = 0;  // there
  double ratio = 0;                          // there: error over budget
  double largest = 0;                        // error over budget of the right ones
  std::int64_t unofficial = 0;               // elements that the official check would refuse
};

inline PartCheck Merged(PartCheck a, const PartCheck& b) {
  if (b.worst >= 0 && (a.worst < 0 || b.ratio > a.ratio || (b.ratio == a.ratio && b.worst < a.worst))) {
    a.worst = b.worst;
    a.expected = b.expected;
    a.got = b.got;
    a.budget = b.budget;
    a.ratio = b.ratio;
  }
  a.wrong += b.wrong;
  a.unwritten += b.unwritten;
  a.nonfinite += b.nonfinite;
  a.zero += b.zero;
  a.largest = std::max(a.largest, b.largest);
  a.unofficial += b.unofficial;
  return a;
}

// Whether the element of `bytes` bytes at `data`, the index-th of its tensor, holds what the tensor was filled with.
inline bool HoldsPoison(const unsigned char* data, std::int64_t bytes, std::int64_t index, std::int64_t poison) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    const bool odd = (index * bytes + i) % 2 != 0;
    if (data[i] != (odd ? poison >> 8 : poison & 0xff)) return false;
  }
  return true;
}

// Adds the element at `data` to `check`, whose value is `got`. From `overflow` on its type has infinities only: where
// what is right reaches so far, the infinity is right, too.
inline void CheckElement(const unsigned char* data, std::int64_t bytes, std::int64_t index, double got, double want,
                         double budget, double tolerance, double overflow, std::int64_t poison, PartCheck& check) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const double error = std::abs(got - want);
  if (error <= budget) {
    check.unofficial += error > tolerance + tolerance * std::abs(want);
    if (error > 0) check.largest = std::max(check.largest, error / budget);
    return;
  }
  // What does not compare: the same infinity, both NaN; an infinite budget allows all that is written.
  if (got == want) return;
  if (std::isfinite(want) &&
      (got > 0 ? got == kInfinite && want + budget >= overflow : got == -kInfinite && want - budget <= -overflow)) {
    ++check.unofficial;
    return;
  }
  const bool unwritten = HoldsPoison(data, bytes, index, poison);
  if (!unwritten && ((got != got && want != want) || budget == kInfinite)) return;
  ++check.unofficial;
  ++check.wrong;
  check.unwritten += unwritten;
  check.nonfinite += !unwritten && !std::isfinite(got) && std::isfinite(want);
  check.zero += got == 0;
  const double ratio = error != error ? kInfinite : budget > 0 ? error / budget : std::min(1e300, 1e16 * error);
  if (check.worst < 0 || ratio > check.ratio) {
    check.ratio = ratio;
    check.worst = index;
    check.expected = want;
    check.got = got;
    check.budget = budget;
  }
}

// A whole number about which the error analysis says nothing. It is right if it is what is expected, no more than
// `room` from it, or an index whose value is as good: no more than a budget from that at the expected one
// (oracle/picks.h).
struct OpenElement {
  double got = 0, want = 0, distance = 0, budget = 0;
  bool right(double room) const { return std::abs(got - want) <= room || std::abs(distance) <= budget; }
};
inline void CheckOpen(std::int64_t index, const OpenElement& one, double room, PartCheck& check) {
  if (one.right(room)) return;
  ++check.wrong;
  ++check.unofficial;
  check.zero += one.got == 0;
  if (check.worst >= 0) return;
  check.worst = index;
  check.expected = one.want;
  check.got = one.got;
  check.budget = std::max(room, 0.0);
  check.ratio = std::numeric_limits<double>::infinity();
}

// An output by the norm of its error: as large as what any element may be off by, and no larger in the root mean square
// than all may be. Where a budget says nothing, or leaves no room, each element has to be right by itself.
struct NormCheck {
  double error = 0, errors = 0;    // the largest, and the sum of squares
  double budget = 0, budgets = 0;  // likewise
  std::int64_t wrong = 0;          // by themselves
  bool right() const { return wrong == 0 && error <= budget && errors <= budgets; }
  void Add(const unsigned char* data, std::int64_t bytes, std::int64_t index, double got, double want, double own,
           double overflow, std::int64_t poison) {
    if (own > 0 && std::isfinite(own) && std::isfinite(got) && std::isfinite(want)) {
      const double off = std::abs(got - want);
      error = std::max(error, off);
      errors += off * off;
      budget = std::max(budget, own);
      budgets += own * own;
      return;
    }
    PartCheck alone;
    CheckElement(data, bytes, index, got, want, own, 0, overflow, poison, alone);
    wrong += alone.wrong;
  }
};

inline NormCheck Merged(NormCheck a, const NormCheck& b) {
  a.error = std::max(a.error, b.error);
  a.errors += b.errors;
  a.budget = std::max(a.budget, b.budget);
  a.budgets += b.budgets;
  a.wrong += b.wrong;
  return a;
}

// The elements of an output taken together: sums over those that are finite and expected to be.
struct Totals {
  double count = 0, sum = 0, squares = 0, error_squares = 0;
  void Add(double got, double want) {
    if (!std::isfinite(got) || !std::isfinite(want)) return;
    count += 1;
    sum += got;
    squares += got * got;
    error_squares += (got - want) * (got - want);
  }
  double Mean() const { return sum / count; }
  double Deviation() const { return std::sqrt(std::max(squares / count - Mean() * Mean(), 0.0)); }
  double RootError() const { return std::sqrt(error_squares / count); }
};

inline Totals Merged(Totals a, const Totals& b) {
  a.count += b.count;
  a.sum += b.sum;
  a.squares += b.squares;
  a.error_squares += b.error_squares;
  return a;
}

// Elements beside one run of the honest implementation.
struct UndecidedPart {
  double count = 0;         // of those about which the error analysis says nothing, though they are finite
  double worst = 0;         // the run's largest error there, relative to 1 + |value|
  Totals expected, honest;  // of all elements
  void Add(double value, double scale, double run) {
    expected.Add(value, value);
    honest.Add(run, value);
    if (!(scale == std::numeric_limits<double>::infinity()) || !std::isfinite(value)) return;
    count += 1;
    if (std::isfinite(run)) worst = std::max(worst, std::abs(run - value) / (1 + std::abs(value)));
  }
};

inline UndecidedPart Merged(UndecidedPart a, const UndecidedPart& b) {
  a.count += b.count;
  a.worst = std::max(a.worst, b.worst);
  a.expected = Merged(a.expected, b.expected);
  a.honest = Merged(a.honest, b.honest);
  return a;
}

// How far off an honest run is, and what it teaches about scales.
struct HonestPart {
  double ratio = 0;  // the largest error, in scales
  double open = 0;   // the largest error where the error analysis says nothing
  double size = 0;   // of the largest value
  void Add(double value, double run, double& scale) {
    if (std::isfinite(value)) size = std::max(size, std::abs(value));
    if (std::isnan(value)) {
      // Of a NaN's error nothing can be said, but where both have one it is what the definitions say.
      if (std::isnan(run)) scale = 0;
      return;
    }
    const double error = std::abs(run - value);
    if (!std::isfinite(run) && std::isfinite(value)) {
      scale = std::numeric_limits<double>::infinity();  // an honest implementation overflows here
    } else if (std::isfinite(error) && std::isfinite(scale) && scale > 0) {
      ratio = std::max(ratio, (error - kTinyError) / scale);
    } else if (std::isfinite(error)) {
      open = std::max(open, error);
    }
  }
};

inline HonestPart Merged(HonestPart a, const HonestPart& b) {
  a.ratio = std::max(a.ratio, b.ratio);
  a.open = std::max(a.open, b.open);
  a.size = std::max(a.size, b.size);
  return a;
}

}  // namespace hone
