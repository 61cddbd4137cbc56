// What nests on a device need beside numbers.h (oracle/cuda_nest.cc embeds this text behind it): for NVRTC, and for
// tests that run a nest's blocks one after the other on the host.
#pragma once

constexpr int kMostThreads = 256;

// The largest or smallest of what was taken so far.
template <class R>
struct Extreme {
  R best{};
  bool any = false;
  void Take(R x, bool largest) {
    best = !any ? x : largest ? Max(best, x) : Min(best, x);
    any = true;
  }
  void Merge(const Extreme& other, bool largest) {
    if (other.any) Take(other.best, largest);
  }
};

// Those of [begin, end) that there are.
struct Span {
  std::int64_t begin, end;
};
inline Span TermsBetween(std::int64_t begin, std::int64_t end, std::int64_t terms) {
  return {std::max<std::int64_t>(begin, 0), std::min(end, terms)};
}

// The terms in a row that one of several workers takes: at least as many as a block of an honest sum has.
inline Span ShareOf(std::int64_t worker, std::int64_t workers, std::int64_t terms) {
  const std::int64_t each = std::max((terms + workers - 1) / workers, std::min(terms, kBlock));
  return {worker * each, std::min(terms, (worker + 1) * each)};
}

// What one term adds to an honest sum.
template <class T>
struct HonestTerm {
  T v = 0;
  void Add(Honest<T> t) { v = t.v; }
  void AddExactProduct(T a, T b) { v = RoundProduct(RoundOperand(a) * RoundOperand(b)); }
  void AddExact(T a) { v = a; }
};

// The terms of a sum that one of its workers takes: the threads of one block or several. add(n, sum) adds the n-th.
template <class S, class Add>
inline void AddShared(S& sum, std::int64_t worker, std::int64_t workers, std::int64_t terms, const Add& add) {
  for (std::int64_t n = worker; n < terms; n += workers) add(n, sum);
}

// An honest sum is taken in order (numbers.h): a block's is its first thread's, to which the others hand the terms. Of
// several blocks each worker takes kBlock terms in a row, or more, by itself.
template <class T, class Add>
inline void AddShared(Sum<Honest<T>>& sum, std::int64_t worker, std::int64_t workers, std::int64_t terms,
                      const Add& add) {
  if (workers > blockDim.x && ShareOf(0, workers, terms).end < terms) {
    const Span own = ShareOf(worker, workers, terms);
    for (std::int64_t n = own.begin; n < own.end; ++n) add(n, sum);
    return;
  }
  if (worker >= blockDim.x) return;
  static_assert(kBlock % kMostThreads == 0);
  __shared__ T handed[kMostThreads];
  T total = sum.total, block = sum.block;
  for (std::int64_t first = 0; first < terms; first += blockDim.x) {
    if (first + threadIdx.x < terms) {
      HonestTerm<T> one;
      add(first + threadIdx.x, one);
      handed[threadIdx.x] = one.v;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      const int count = static_cast<int>(std::min<std::int64_t>(blockDim.x, terms - first));
#pragma unroll 8
      for (int i = 0; i < count; ++i) block += handed[i];
      if ((first + blockDim.x) % kBlock == 0) {
        total += block;
        block = 0;
      }
    }
    __syncthreads();
  }
  sum.total = total;
  sum.block = block;
}

// One value of each thread of a block merged into one, which all get. All threads have to call it.
template <class T, class Merge>
T OverBlock(const T& mine, const Merge& merge) {
  alignas(16) __shared__ unsigned char bytes[kMostThreads * sizeof(T)];
  T* all = reinterpret_cast<T*>(bytes);
  __syncthreads();
  all[threadIdx.x] = mine;
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) all[threadIdx.x] = merge(all[threadIdx.x], all[threadIdx.x + width]);
  }
  __syncthreads();
  return all[0];
}
