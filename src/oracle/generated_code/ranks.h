// Places in a sorted row, for the oracle's nests on the host and on a device (oracle/loop_nest.cc and
// oracle/cuda_nest.cc embed this text behind numbers.h): who comes before whom, and whose place hangs on rounding. They
// are what comparing each element with all of its row gives (graph/order.h), to the bit.
#pragma once

#ifndef __CUDACC_RTC__
namespace {
#endif

// What is compared of an element, a double or an int64, and a bound of its error: that of a whole number that hangs on
// rounding is infinite.
template <class Key>
struct RankKey {
  Key key;
  double error;
};
inline double ErrorOf(Tracked a) { return a.e; }
inline double ErrorOf(Whole a) { return a.sure ? 0 : kInf; }
template <class T>
double ErrorOf(T) {
  return 0;
}
template <class Key, class T>
RankKey<Key> RankKeyOf(T x) {
  return {static_cast<Key>(Plain(x)), ErrorOf(x)};
}

template <class Key>
struct InRow {
  Key key;
  std::uint32_t place;  // in its row
};

// A NaN is larger than all numbers; of equals the one with the smaller place comes first.
template <class Key>
bool ComesBefore(const InRow<Key>& a, const InRow<Key>& b, bool descending) {
  if (descending ? b.key < a.key : a.key < b.key) return true;
  if (descending ? a.key < b.key : b.key < a.key) return false;
  const bool a_nan = a.key != a.key, b_nan = b.key != b.key;
  if (a_nan != b_nan) return descending ? a_nan : b_nan;
  return a.place < b.place;
}

// A place, and whether it hangs on rounding.
constexpr std::uint32_t kDoubted = 1u << 31;
template <class W>
W RankFrom(std::uint32_t rank) {
  return W(rank & (kDoubted - 1));
}
template <>
inline Whole RankFrom<Whole>(std::uint32_t rank) {
  return Whole(rank & (kDoubted - 1), rank < kDoubted);
}

// As Compared of numbers.h: whether rounding decides which of two is smaller.
inline bool InDoubt(double a, double a_error, double b, double b_error) {
  const double errors = 4 * (a_error + b_error);
  return std::abs(a - b) <= errors && errors != 0;
}

// No number without error that is larger is in doubt beside one at `at` with this error; -infinity where none is.
inline double Reach(double at, double error) {
  if (!(error > 0) || at != at) return -kInf;
  if (error == kInf) return kInf;
  if (std::abs(at) == kInf) return -kInf;
  // The difference that InDoubt looks at is rounded, as is this sum.
  return at + 4 * error + (std::abs(at) + 4 * error) * 0x1p-50;
}

// One row in order, and the errors of its elements by their places in the row. `at` runs over [0, count), in order.
template <class Key>
struct SortedRow {
  const InRow<Key>* sorted;
  const double* errors;
  std::int64_t count;
  bool descending;

  // Numbers that ascend with `at`, but for NaNs, seen from below or from above.
  double At(std::int64_t at) const {
    const double key = static_cast<double>(sorted[at].key);
    return descending ? -key : key;
  }
  double Error(std::int64_t at) const { return errors[sorted[at].place]; }
  double Reaches(std::int64_t at, bool up) const { return Reach(up ? At(at) : -At(at), Error(at)); }
  // Of two places, where the one is that reaches further.
  std::uint32_t Further(std::uint32_t a, std::uint32_t b, bool up) const {
    return Reaches(b, up) > Reaches(a, up) ? b : a;
  }
  bool AreInDoubt(std::int64_t a, std::int64_t b) const { return InDoubt(At(a), Error(a), At(b), Error(b)); }
};

// Who reaches furthest of an element and those before it, up; and of it and those behind it, down.
struct Furthest {
  std::uint32_t up, down;
};

// Whether any of a row is in doubt beside the one at `at`, itself too.
template <class Key>
bool IsDoubted(const SortedRow<Key>& row, const Furthest* furthest, std::int64_t at) {
  if (row.AreInDoubt(at, at)) return true;
  const double own = row.At(at), error = row.Error(at);
  if (own != own || error != error) return false;
  if (error > 0) {  // at infinity
    for (std::int64_t other = 0; other < row.count; ++other) {
      if (row.AreInDoubt(at, other)) return true;
    }
    return false;
  }
  for (int direction = 0; direction < 2; ++direction) {
    const bool up = direction == 0;
    const auto further = [&](std::int64_t from) { return up ? furthest[from].up : furthest[from].down; };
    if (row.AreInDoubt(at, further(at))) return true;
    for (std::int64_t from = at; from >= 0 && from < row.count; from += up ? -1 : 1) {
      const double reach = row.Reaches(further(from), up);
      if (!(reach > -kInf) || reach < (up ? own : -own)) break;
      if (row.AreInDoubt(at, from)) return true;
    }
  }
  return false;
}

#ifndef __CUDACC_RTC__
}  // namespace
#endif
