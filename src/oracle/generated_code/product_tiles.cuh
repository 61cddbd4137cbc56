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

// Where in a tile the j-th row or column of a thread lies. They come in pairs, and those of neighbours lie side by
// side: a warp reads a row of shared memory without a conflict.
constexpr unsigned Placed(unsigned thread, unsigned j) { return j / 2 * (2 * kSide) + 2 * thread + j % 2; }
inline unsigned RowOf(Part rows, unsigned n) { return rows.tile + Placed(threadIdx.x / kSide, n / kEach); }
inline unsigned ColumnOf(Part columns, unsigned n) { return columns.tile + Placed(threadIdx.x % kSide, n % kEach); }

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
};
template <class T>
struct ProductSum<Honest<T>> {
  T total = 0;
  static T Held(double x) { return RoundOperand(static_cast<T>(x)); }
  static T Held(Honest<T> x) { return RoundOperand(x.v); }
  void AddProduct(T a, T b) { total += RoundProduct(a * b); }
  void AddExactProduct(T a, T b) { total += RoundProduct(a * b); }
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

// This thread's results of a tile, rows by columns, whose terms are left(row, fold) * right(row, fold, column). All
// threads have to call it. All rows are as the first to `right`.
template <class R, bool exact, bool left_by_fold, bool right_by_fold, class Left, class Right>
void SumTile(R (&results)[kEach * kEach], Part rows, Part columns, Span folds, const Left& left, const Right& right) {
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
    __syncthreads();
  }
#pragma unroll
  for (unsigned n = 0; n < kEach * kEach; ++n) results[n] = ResultOf<exact>(sums[n / kEach][n % kEach]);
}

// The same of rows that have nothing in common.
template <class R, bool exact, class Left, class Right>
void SumEach(R (&results)[kEach * kEach], Part rows, Part columns, Span folds, const Left& left, const Right& right) {
#pragma unroll 1
  for (unsigned n = 0; n < kEach * kEach; ++n) {
    const unsigned row = RowOf(rows, n), column = ColumnOf(columns, n);
    if (!rows.Holds(row) || !columns.Holds(column)) continue;
    ProductSum<R> sum;
    for (std::int64_t fold = folds.begin; fold < folds.end; ++fold)
      AddTerm<exact>(sum, ProductSum<R>::Held(left(row, fold)), ProductSum<R>::Held(right(row, fold, column)));
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
