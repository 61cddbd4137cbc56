// The kernels that `hone calibrate` measures with. Not part of the program: its text travels inside of it and is
// compiled where it runs, so that -march=native means the machine that is measured.
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

#if defined(__AVX512F__)
constexpr int kWidest = 64;
#elif defined(__AVX__)
constexpr int kWidest = 32;
#else
constexpr int kWidest = 16;
#endif

template <class T, int kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
};

// Two ports of four cycles' latency want eight independent chains; with twelve the scheduler has slack and 16 registers
// still do. Other architectures have up to four ports, and 32 registers.
#if defined(__x86_64__)
constexpr int kChains = 12;
#else
constexpr int kChains = 24;
#endif

// a = a*b + c, `rounds` times in each chain; the values converge to a normal number, so that no denormal slows it down.
template <class T, int kBytes>
T FmaChains(std::int64_t rounds) {
  using V = typename VectorOf<T, kBytes>::Type;
  V a[kChains];
  for (int i = 0; i < kChains; ++i) a[i] = V{} + T(1 + i);
  V b = V{} + T(0.999), c = V{} + T(0.001);
  asm volatile("" : "+m"(b), "+m"(c));  // not constants that it could fold
  const V factor = b, summand = c;
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) a[i] = a[i] * factor + summand;
  }
  V sum = V{};
  for (int i = 0; i < kChains; ++i) sum += a[i];
  return sum[0];
}

template <class T, int kBytes>
double Fma(int threads, std::int64_t rounds) {
  double sink = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sink)
  sink += FmaChains<T, kBytes>(rounds);
  return sink != 0 ? 2.0 * kChains * (kBytes / sizeof(T)) * static_cast<double>(rounds) * threads : 0;
}

using Block = VectorOf<std::int64_t, kWidest>::Type;

inline void StoreAround(Block* to, Block value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(value));
#elif defined(__x86_64__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
#else
  *to = value;
#endif
}

}  // namespace

// Both give the FLOPs done.
EXPORT double Fma32(int threads, std::int64_t rounds, int wide) {
  return wide ? Fma<float, kWidest>(threads, rounds) : Fma<float, (kWidest > 32 ? 32 : kWidest)>(threads, rounds);
}
EXPORT double Fma64(int threads, std::int64_t rounds, int wide) {
  return wide ? Fma<double, kWidest>(threads, rounds) : Fma<double, (kWidest > 32 ? 32 : kWidest)>(threads, rounds);
}

// Each thread goes through its own `bytes` (a multiple of 512) at from and to + thread * stride, `passes` times.
EXPORT void Copy(int threads, char* to, const char* from, std::int64_t bytes, std::int64_t stride, std::int64_t passes,
                 int around) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread) {
    Block* target = reinterpret_cast<Block*>(to + thread * stride);
    const Block* source = reinterpret_cast<const Block*>(from + thread * stride);
    const std::int64_t count = bytes / kWidest;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      if (around) {
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < count; ++i) StoreAround(target + i, source[i]);
      } else {
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < count; ++i) {
          Block value = source[i];
          asm volatile("" : "+x"(value));  // or the compiler calls memcpy, which chooses for itself how to store
          target[i] = value;
        }
      }
      asm volatile("" ::: "memory");
    }
  }
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

EXPORT std::int64_t Read(int threads, const char* from, std::int64_t bytes, std::int64_t stride, std::int64_t passes) {
  std::int64_t sink = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(| : sink)
  for (int thread = 0; thread < threads; ++thread) {
    const Block* source = reinterpret_cast<const Block*>(from + thread * stride);
    const std::int64_t count = bytes / kWidest;
    Block seen[8] = {};
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      for (std::int64_t i = 0; i + 8 <= count; i += 8) {
#pragma GCC unroll 8
        for (int lane = 0; lane < 8; ++lane) seen[lane] |= source[i + lane];
      }
      asm volatile("" ::: "memory");
    }
    for (const Block& block : seen) {
      for (int i = 0; i < kWidest / 8; ++i) sink |= block[i];
    }
  }
  return sink;
}

// First touch by the thread that will use it, where memory has a home.
EXPORT void Touch(int threads, char* to, std::int64_t stride) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int thread = 0; thread < threads; ++thread)
    std::memset(to + thread * stride, thread + 1, static_cast<std::size_t>(stride));
}

EXPORT void ForkJoin(int threads, int times) {
  for (int i = 0; i < times; ++i) {
#pragma omp parallel num_threads(threads)
    asm volatile("" ::: "memory");
  }
}
