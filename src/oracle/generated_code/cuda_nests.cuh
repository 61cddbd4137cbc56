// What nests on a device need beside numbers.h (oracle/cuda_nest.cc embeds this text behind it): for NVRTC, and for
// tests that run a nest's blocks one after the other on the host.
#pragma once

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

// An honest sum is taken in order (numbers.h).
template <class R>
constexpr bool kInOrder = false;
template <class T>
constexpr bool kInOrder<Honest<T>> = true;

// The terms of a fold that one of its workers takes: every so-manyth, or, in order, as many as a block of such a sum has.
struct Share {
  std::int64_t begin, end, step;
};
template <bool in_order>
inline Share ShareOf(std::int64_t worker, std::int64_t workers, std::int64_t terms) {
  if (!in_order) return {worker, terms, workers};
  const std::int64_t each = std::max((terms + workers - 1) / workers, std::min(terms, kBlock));
  return {worker * each, std::min(terms, (worker + 1) * each), 1};
}

// Those of [begin, end) that there are.
struct Span {
  std::int64_t begin, end;
};
inline Span TermsBetween(std::int64_t begin, std::int64_t end, std::int64_t terms) {
  return {std::max<std::int64_t>(begin, 0), std::min(end, terms)};
}

constexpr int kMostThreads = 256;

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
