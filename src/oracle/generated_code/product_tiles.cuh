// Sums of products by tiles: a block of kSide x kSide threads makes kTile x kTile results, from slabs of both operands
// in shared memory. Text that oracle/cuda_nest.cc embeds behind cuda_nests.cuh, for NVRTC, and for tests that run a
// nest's blocks on the host, where one thread makes the whole tile.
#pragma once

#ifdef __CUDACC_RTC__
constexpr unsigned kSide = 16;
#else
constexpr unsigned kSide = 1;
#endif
constexpr unsigned kTile = 64;             // as in oracle/product_tiles.h
constexpr unsigned kEach = kTile / kSide;  // of a thread, each way
constexpr unsigned kSlab = 16;             // terms that lie in shared memory at a time
constexpr unsigned kPitch = kTile + 2;     // keeps pairs of doubles aligned, and threads that write a column apart

// Rows or columns [begin, end) of the tile that begins at `tile`.
struct Part {
  unsigned tile, begin, end;
  bool Holds(unsigned at) const { return begin <= at && at < end; }
};

// Where in a tile the n-th of a thread's results lies. Honest ones come in pairs each way, and those of neighbouring
// threads lie side by side: a warp reads a row of shared memory without a conflict. Tracked ones lie as the tensor cores
// leave them, 16 x 8 at a time: a warp has 32 rows of 16.
constexpr unsigned Placed(unsigned thread, unsigned j) { return j / 2 * (2 * kSide) + 2 * thread + j % 2; }
template <class R>
struct Layout {
  static unsigned Row(unsigned n) { return Placed(threadIdx.x / kSide, n / kEach); }
  static unsigned Column(unsigned n) { return Placed(threadIdx.x % kSide, n % kEach); }
};
#ifdef __CUDACC_RTC__
template <>
struct Layout<Tracked> {
  static unsigned Row(unsigned n) {
    return threadIdx.x / 128 * 32 + n / 8 * 16 + n / 2 % 2 * 8 + threadIdx.x % 32 / 4;
  }
  static unsigned Column(unsigned n) {
    return threadIdx.x / 32 % 4 * 16 + n / 4 % 2 * 8 + threadIdx.x % 4 * 2 + n % 2;
  }
};
#endif
template <class R>
unsigned RowOf(Part rows, unsigned n) {
  return rows.tile + Layout<R>::Row(n);
}
template <class R>
unsigned ColumnOf(Part columns, unsigned n) {
  return columns.tile + Layout<R>::Column(n);
}

// A sum of at most kBlock products, and what it wants to have of an operand, which is asked once for a whole tile.
template <class R>
struct ProductSum;
template <>
struct ProductSum<Tracked> : Sum<Tracked> {
  static double Held(double x) { return x; }
  static Tracked Held(Tracked x) { return x; }
  template <class A, class B>
  void AddProduct(A a, B b) {
    Add(Product(Tracked(a), Tracked(b)));
  }
  void EndSlab() {}
};
// a + b, what is beyond a T's bits cut off.
template <class T>
T SumCutOff(T a, T b) {
  const double sum = static_cast<double>(a) + static_cast<double>(b);
  const T rounded = static_cast<T>(sum);
  return std::abs(static_cast<double>(rounded)) > std::abs(sum)
             ? rounded * (1 - std::numeric_limits<T>::epsilon() / 2)  // the next one to zero
             : rounded;
}
template <class T>
struct ProductSum<Honest<T>> {
  T total = 0;
  T step = 0;  // of the last products, where tensor cores make them
  static T Held(double x) { return RoundOperand(static_cast<T>(x)); }
  static T Held(Honest<T> x) { return RoundOperand(x.v); }
  void AddProduct(T a, T b) { (kCutTerms > 0 ? step : total) += RoundProduct(a * b); }
  void AddExactProduct(T a, T b) { AddProduct(a, b); }
  // After kSlab terms, and the last ones.
  void EndSlab() {
    static_assert(kCutTerms == 0 || kCutTerms == kSlab);
    if constexpr (kCutTerms > 0) {
      total = SumCutOff(total, step);
      step = 0;
    }
  }
  void ScaleExactProducts() {}
  Honest<T> Get() const { return Wrap<T>(total); }
};

template <bool exact, class S, class A, class B>
void AddTerm(S& sum, A a, B b) {
  if constexpr (exact)
    sum.AddExactProduct(a, b);
  else
    sum.AddProduct(a, b);
}
template <bool exact, class R>
R ResultOf(ProductSum<R>& sum) {
  if constexpr (exact) sum.ScaleExactProducts();
  return sum.Get();
}

// Terms [fold, end) of a side's rows or columns, as many as fit, to shared memory; what lies outside is zero. Where
// by_fold, neighbouring terms lie side by side in global memory, and threads take them so; otherwise neighbouring rows.
template <class R, bool by_fold, class T, class Element>
void LoadSlab(T* slab, Part part, unsigned fold, unsigned end, const Element& element) {
#pragma unroll
  for (unsigned i = 0; i < kTile * kSlab / (kSide * kSide); ++i) {
    const unsigned n = i * kSide * kSide + threadIdx.x;
    const unsigned k = by_fold ? n % kSlab : n / kTile, at = by_fold ? n / kSlab : n % kTile;
    const bool there = fold + k < end && part.Holds(part.tile + at);
    slab[k * kPitch + at] = there ? ProductSum<R>::Held(element(part.tile + at, fold + k)) : T{};
  }
}

inline bool HasSquare(double x) { return std::abs(x) < 0x1p500; }
inline bool HasSquare(Tracked x) { return std::abs(x.v) < 0x1p500 && x.e < 0x1p500; }

// A thread's share of a slab: terms [fold, end) of a side's rows or columns; what lies outside is zero. Where by_fold,
// neighbouring terms lie side by side in global memory, and threads take them so; otherwise neighbouring rows.
template <class T, unsigned slab, bool by_fold>
struct SlabShare {
  static constexpr unsigned kCount = kTile * slab / (kSide * kSide);
  static constexpr unsigned kPitch = kTile + 32 / sizeof(T);  // no conflicts where a warp reads 4 terms of 8 rows
  T held[kCount];

  static unsigned Term(unsigned i) {
    const unsigned n = i * kSide * kSide + threadIdx.x;
    return by_fold ? n % slab : n / kTile;
  }
  static unsigned At(unsigned i) {
    const unsigned n = i * kSide * kSide + threadIdx.x;
    return by_fold ? n / slab : n % kTile;
  }
  template <class Element>
  void Load(Part part, unsigned fold, unsigned end, const Element& element) {
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) {
      const unsigned at = part.tile + At(i), k = fold + Term(i);
      held[i] = k < end && part.Holds(at) ? element(at, k) : T{};
    }
  }
  void Store(T* to) const {
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) to[Term(i) * kPitch + At(i)] = held[i];
  }
  bool IsOrdinary() const {
    bool ordinary = true;
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) ordinary = ordinary && HasSquare(held[i]);
    return ordinary;
  }
};

// Sums of tracked products are a few sums of products of doubles, which tensor cores make: with x = |a|, and d, e the
// errors of a and b, the error of a term is d (|b| + e) + |a| (e + u |b|), where u is what a product rounds by.
//
//   accumulator   of exact operands   one with errors, q = d + u |a|   both, y = |b| + e, w = e + u |b|
//   value         a, b                a, b                             a, b
//   magnitude     |a|, |b|            |a|, |b|                         |a|, |b|
//   squares       a^2, b^2            q^2, b^2                         d^2, y^2;   a^2, w^2;   2 d |a|, y w
//   signed sum                        +-q, b                           +-d, +-y;   a, +-w
//
// Here u leaves out that a product below kSmallest may be flushed to zero: what comes of that is added in the end.
enum FormSum { kValueSum, kMagnitudeSum, kSquareSum, kSignedSum };
constexpr unsigned kFormSums = 4;
constexpr FormSum SumOf(unsigned form) {
  return form < 4 ? static_cast<FormSum>(form) : form == 5 ? kSignedSum : kSquareSum;
}
constexpr double kTermUnit = kUnit + (kOperandUnit > kUnit ? 2 * kOperandUnit : 0);

// `form` of an operand; `other` is the type of the operand on the other side.
template <unsigned form, class Other>
double LeftForm(double a) {
  constexpr bool plain = form == kValueSum || form == kSignedSum;
  return plain ? a : form == kMagnitudeSum ? std::abs(a) : a * a;
}
template <unsigned form, class Other>
double RightForm(double b) {
  return LeftForm<form, Other>(b);
}
// Beside a double.
template <unsigned form>
double OnlyForm(Tracked a) {
  if (form == kValueSum) return a.v;
  if (form == kMagnitudeSum) return std::abs(a.v);
  const double q = a.e + kTermUnit * std::abs(a.v);
  return form == kSquareSum ? q * q : std::copysign(q, a.v);
}
template <unsigned form>
double FirstForm(Tracked a) {
  if (form == 0 || form == 5) return a.v;
  if (form == 1) return std::abs(a.v);
  if (form == 2) return a.e * a.e;
  if (form == 3) return std::copysign(a.e, a.v);
  return form == 4 ? a.v * a.v : 2 * a.e * std::abs(a.v);
}
template <unsigned form>
double SecondForm(Tracked b) {
  const double size = std::abs(b.v), y = size + b.e, w = b.e + kTermUnit * size;
  if (form == 0) return b.v;
  if (form == 1) return size;
  if (form == 2) return y * y;
  if (form == 3) return std::copysign(y, b.v);
  return form == 4 ? w * w : form == 5 ? std::copysign(w, b.v) : y * w;
}
template <class T>
constexpr bool kIsTracked = false;
template <>
constexpr bool kIsTracked<Tracked> = true;
template <unsigned form, class Other>
double LeftForm(Tracked a) {
  if constexpr (kIsTracked<Other>)
    return FirstForm<form>(a);
  else
    return OnlyForm<form>(a);
}
template <unsigned form, class Other>
double RightForm(Tracked b) {
  if constexpr (kIsTracked<Other>)
    return SecondForm<form>(b);
  else
    return OnlyForm<form>(b);
}

// sums += left (16 x 8) * right (8 x 8), of a warp's 16 x 8 results, a thread's as Layout<Tracked> has them. Of a thread:
// lefts of two rows at a term, then at the term four behind it; rights at both terms.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HONE_MULTIPLIES_DOUBLES
inline void MultiplyWarp(double (&sums)[4], const double (&left)[4], const double (&right)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
      : "d"(left[0]), "d"(left[1]), "d"(left[2]), "d"(left[3]), "d"(right[0]), "d"(right[1]));
}
#endif

template <class A, class B>
struct FormSums {
  static constexpr bool kExact = !kIsTracked<A> && !kIsTracked<B>;
  static constexpr unsigned kForms = kIsTracked<A> && kIsTracked<B> ? 7 : !kExact ? 4 : kOperandUnit > kUnit ? 3 : 2;
  static constexpr unsigned kTerms = 8;
  double sums[kFormSums][kEach * kEach / 4][4] = {};

  // kTerms terms of both, from shared memory.
  template <class Lefts, class Rights>
  void AddTerms(const A* lefts, const B* rights) {
#ifdef HONE_MULTIPLIES_DOUBLES
    const unsigned term = threadIdx.x % 4;
    B b[2][2];
#pragma unroll
    for (unsigned n = 0; n < 4; ++n)
      b[n / 2][n % 2] = rights[(term + n % 2 * 4) * Rights::kPitch + threadIdx.x / 32 % 4 * 16 + n / 2 * 8 +
                               threadIdx.x % 32 / 4];
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      A a[4];
#pragma unroll
      for (unsigned n = 0; n < 4; ++n)
        a[n] = lefts[(term + n / 2 * 4) * Lefts::kPitch + Layout<Tracked>::Row(i * 8 + n % 2 * 2)];
      AddForms<0>(i, a, b);
    }
#else
#pragma unroll 1
    for (unsigned k = 0; k < kTerms; ++k) {
#pragma unroll
      for (unsigned n = 0; n < kEach * kEach; ++n)
        AddForms<0>(n, lefts[k * Lefts::kPitch + Layout<Tracked>::Row(n)],
                    rights[k * Rights::kPitch + Layout<Tracked>::Column(n)]);
    }
#endif
  }
#ifdef HONE_MULTIPLIES_DOUBLES
  template <unsigned form>
  void AddForms(unsigned i, const A (&a)[4], const B (&b)[2][2]) {
    if constexpr (form < kForms) {
      const double left[4] = {LeftForm<form, B>(a[0]), LeftForm<form, B>(a[1]), LeftForm<form, B>(a[2]),
                              LeftForm<form, B>(a[3])};
#pragma unroll
      for (unsigned j = 0; j < 2; ++j) {
        const double right[2] = {RightForm<form, A>(b[j][0]), RightForm<form, A>(b[j][1])};
        MultiplyWarp(sums[SumOf(form)][i * 2 + j], left, right);
      }
      AddForms<form + 1>(i, a, b);
    }
  }
#else
  template <unsigned form>
  void AddForms(unsigned n, A a, B b) {
    if constexpr (form < kForms) {
      sums[SumOf(form)][n / 4][n % 4] += LeftForm<form, B>(a) * RightForm<form, A>(b);
      AddForms<form + 1>(n, a, b);
    }
  }
#endif
  // The same one by one, where squares of what is there are beyond all numbers.
  template <class Lefts, class Rights>
  void AddEach(const A* lefts, const B* rights) {
#pragma unroll 1
    for (unsigned k = 0; k < kTerms; ++k) {
#pragma unroll
      for (unsigned n = 0; n < kEach * kEach; ++n) {
        const Tracked t = Product(Tracked(lefts[k * Lefts::kPitch + Layout<Tracked>::Row(n)]),
                                  Tracked(rights[k * Rights::kPitch + Layout<Tracked>::Column(n)]));
        sums[kValueSum][n / 4][n % 4] += t.v;
        sums[kMagnitudeSum][n / 4][n % 4] += std::abs(t.v);
        sums[kSquareSum][n / 4][n % 4] += t.e * t.e;
        sums[kSignedSum][n / 4][n % 4] += std::copysign(t.e, t.v);
      }
    }
  }
  Tracked Get(unsigned n, double terms) const {
    Sum<Tracked> sum;
    const auto of = [&](FormSum what) { return sums[what][n / 4][n % 4]; };
    sum.v = of(kValueSum);
    sum.errors = {of(kMagnitudeSum), of(kSquareSum), of(kSignedSum), terms};
    if constexpr (kExact)
      sum.ScaleExactProducts();
    else
      sum.errors.squares += terms * kSmallest * kSmallest;
    return sum.Get();
  }
};

// This thread's results of a tile, rows by columns, whose terms are left(row, fold) * right(row, fold, column). All
// threads have to call it. All rows are as the first to `right`.
template <class R, bool left_by_fold, bool right_by_fold, class Left, class Right>
void SumTracked(R (&results)[kEach * kEach], Part rows, Part columns, Span folds, const Left& left, const Right& right) {
  using A = decltype(left(0u, 0u));
  using B = decltype(right(0u, 0u, 0u));
  using Sums = FormSums<A, B>;
  using Lefts = SlabShare<A, Sums::kTerms, left_by_fold>;
  using Rights = SlabShare<B, Sums::kTerms, right_by_fold>;
  constexpr unsigned left_size = Sums::kTerms * Lefts::kPitch, right_size = Sums::kTerms * Rights::kPitch;
  alignas(16) __shared__ unsigned char left_bytes[2 * left_size * sizeof(A)];
  alignas(16) __shared__ unsigned char right_bytes[2 * right_size * sizeof(B)];
  const auto of_columns = [&](unsigned column, unsigned k) { return right(rows.begin, k, column); };
  Lefts lefts;
  Rights rights;
  Sums sums;
  // While a slab is multiplied the next one is on its way to the other half of shared memory.
  lefts.Load(rows, folds.begin, folds.end, left);
  rights.Load(columns, folds.begin, folds.end, of_columns);
  bool second = false;
  __syncthreads();
  for (std::int64_t fold = folds.begin; fold < folds.end; fold += Sums::kTerms) {
    A* const a = reinterpret_cast<A*>(left_bytes) + (second ? left_size : 0);
    B* const b = reinterpret_cast<B*>(right_bytes) + (second ? right_size : 0);
    lefts.Store(a);
    rights.Store(b);
    const bool strange = __syncthreads_or(!Sums::kExact && !(lefts.IsOrdinary() && rights.IsOrdinary()));
    lefts.Load(rows, fold + Sums::kTerms, folds.end, left);
    rights.Load(columns, fold + Sums::kTerms, folds.end, of_columns);
    if (strange)
      sums.template AddEach<Lefts, Rights>(a, b);
    else
      sums.template AddTerms<Lefts, Rights>(a, b);
    second = !second;
  }
#pragma unroll
  for (unsigned n = 0; n < kEach * kEach; ++n)
    results[n] = sums.Get(n, static_cast<double>(folds.end - folds.begin));
}

// The same of honest results, whose terms are added in order.
template <class R, bool exact, bool left_by_fold, bool right_by_fold, class Left, class Right>
void SumHonest(R (&results)[kEach * kEach], Part rows, Part columns, Span folds, const Left& left, const Right& right) {
  using A = decltype(ProductSum<R>::Held(left(0u, 0u)));
  using B = decltype(ProductSum<R>::Held(right(0u, 0u, 0u)));
  alignas(16) __shared__ unsigned char left_bytes[kSlab * kPitch * sizeof(A)];
  alignas(16) __shared__ unsigned char right_bytes[kSlab * kPitch * sizeof(B)];
  A* const lefts = reinterpret_cast<A*>(left_bytes);
  B* const rights = reinterpret_cast<B*>(right_bytes);
  const unsigned y = threadIdx.x / kSide, x = threadIdx.x % kSide;
  ProductSum<R> sums[kEach][kEach];
  for (std::int64_t fold = folds.begin; fold < folds.end; fold += kSlab) {
    LoadSlab<R, left_by_fold>(lefts, rows, fold, folds.end, left);
    LoadSlab<R, right_by_fold>(rights, columns, fold, folds.end,
                               [&](unsigned column, unsigned k) { return right(rows.begin, k, column); });
    __syncthreads();
#pragma unroll(exact ? 2 : 1)
    for (unsigned k = 0; k < kSlab; ++k) {
      A a[kEach];
      B b[kEach];
#pragma unroll
      for (unsigned j = 0; j < kEach; ++j) {
        a[j] = lefts[k * kPitch + Placed(y, j)];
        b[j] = rights[k * kPitch + Placed(x, j)];
      }
#pragma unroll
      for (unsigned i = 0; i < kEach; ++i) {
#pragma unroll
        for (unsigned j = 0; j < kEach; ++j) AddTerm<exact>(sums[i][j], a[i], b[j]);
      }
    }
#pragma unroll
    for (unsigned n = 0; n < kEach * kEach; ++n) sums[n / kEach][n % kEach].EndSlab();
    __syncthreads();
  }
#pragma unroll
  for (unsigned n = 0; n < kEach * kEach; ++n) results[n] = ResultOf<exact>(sums[n / kEach][n % kEach]);
}

template <class R, bool exact, bool left_by_fold, bool right_by_fold, class Left, class Right>
void SumTile(R (&results)[kEach * kEach], Part rows, Part columns, Span folds, const Left& left, const Right& right) {
  if constexpr (kIsTracked<R>)
    SumTracked<R, left_by_fold, right_by_fold>(results, rows, columns, folds, left, right);
  else
    SumHonest<R, exact, left_by_fold, right_by_fold>(results, rows, columns, folds, left, right);
}

// The same of rows that have nothing in common.
template <class R, bool exact, class Left, class Right>
void SumEach(R (&results)[kEach * kEach], Part rows, Part columns, Span folds, const Left& left, const Right& right) {
#pragma unroll 1
  for (unsigned n = 0; n < kEach * kEach; ++n) {
    const unsigned row = RowOf<R>(rows, n), column = ColumnOf<R>(columns, n);
    if (!rows.Holds(row) || !columns.Holds(column)) continue;
    ProductSum<R> sum;
    for (std::int64_t slab = folds.begin; slab < folds.end; slab += kSlab) {
      for (std::int64_t fold = slab; fold < folds.end && fold < slab + kSlab; ++fold)
        AddTerm<exact>(sum, ProductSum<R>::Held(left(row, fold)), ProductSum<R>::Held(right(row, fold, column)));
      sum.EndSlab();
    }
    results[n] = ResultOf<exact>(sum);
  }
}

// A tile's rows in runs of which all are as the first. Where there are many, as of rows in no order, all are one run,
// `scattered`: a tile for each would take longer than to make each result alone.
constexpr unsigned kMostRuns = 8;
struct Runs {
  Part rows;
  const bool* starts;
  bool scattered;
  Part From(unsigned begin) const {  // empty behind the last
    unsigned end = begin + 1;
    while (end < rows.end && (scattered || !starts[end - rows.tile])) ++end;
    return {rows.tile, begin, std::min(end, rows.end)};
  }
};
// Keys that hang on rounding are those of one group only if both do.
inline bool Differ(std::int64_t a, std::int64_t b) { return a != b; }
inline bool Differ(Whole a, Whole b) { return a.v != b.v || a.sure != b.sure; }
// `starts(row)` says whether the row is not as the one before. All threads have to call it.
template <class Starts>
Runs RunsOf(Part rows, const Starts& starts) {
  __shared__ bool flags[kTile];
  __syncthreads();
  for (unsigned at = threadIdx.x; at < kTile; at += kSide * kSide)
    flags[at] = at == 0 || (rows.Holds(rows.tile + at) && starts(rows.tile + at));
  __syncthreads();
  unsigned count = 0;
  for (const bool one : flags) count += one;
  return {rows, flags, count > kMostRuns};
}
