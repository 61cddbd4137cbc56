// The kernels that `hone calibrate` measures with. Not part of the program: its text travels inside of it and is
// compiled where it runs, so that -march=native means the machine that is measured.
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__aarch64__)
#define HONE_KEEP_VECTOR(value) asm volatile("" : "+w"(value))
#elif defined(__x86_64__)
#define HONE_KEEP_VECTOR(value) asm volatile("" : "+v"(value))
#else
#define HONE_KEEP_VECTOR(value) asm volatile("" : "+m"(value))
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
double Fma(std::int64_t rounds) {
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
  return sum[0] != 0 ? 2.0 * kChains * (kBytes / sizeof(T)) * static_cast<double>(rounds) : 0;
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

// Each is the work of one thread; who measures brings the threads. Both of these give the FLOPs done.
EXPORT double Fma32(std::int64_t rounds, int wide) {
  return wide ? Fma<float, kWidest>(rounds) : Fma<float, (kWidest > 32 ? 32 : kWidest)>(rounds);
}
EXPORT double Fma64(std::int64_t rounds, int wide) {
  return wide ? Fma<double, kWidest>(rounds) : Fma<double, (kWidest > 32 ? 32 : kWidest)>(rounds);
}
// Likewise, of products of bf16 into sums of f32; 0 where the processor has none, or tiles (AMX) that are faster.
EXPORT double Bf16Pairs([[maybe_unused]] std::int64_t rounds) {
#if defined(__AVX512BF16__) && !defined(__AMX_TILE__)
  using Sums = VectorOf<float, 64>::Type;
  using Pairs = VectorOf<unsigned, 64>::Type;
  constexpr int kSums = 24;  // their latency is twice that of a multiply-add
  Sums sum[kSums];
#pragma GCC unroll 24
  for (Sums& one : sum) one = Sums{};
  Pairs a = Pairs{} + 0x3f003f00u;  // 0.5 and 0.5
  asm volatile("" : "+m"(a));
  const Pairs factor = a;
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < kSums; ++i) asm("vdpbf16ps %1, %1, %0" : "+v"(sum[i]) : "v"(factor));
  }
  Sums all = {};
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) all += sum[i];
  return all[0] != 0 ? 4.0 * kSums * 16 * static_cast<double>(rounds) : 0;
#else
  return 0;
#endif
}

// `bytes` are a multiple of 512, addresses of 64.
EXPORT void Copy(char* to, const char* from, std::int64_t bytes, std::int64_t passes, int around) {
  Block* target = reinterpret_cast<Block*>(to);
  const Block* source = reinterpret_cast<const Block*>(from);
  const std::int64_t count = bytes / kWidest;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    if (around) {
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < count; ++i) StoreAround(target + i, source[i]);
    } else {
#pragma GCC unroll 4
      for (std::int64_t i = 0; i < count; ++i) {
        Block value = source[i];
        HONE_KEEP_VECTOR(value);  // or the compiler calls memcpy, which chooses for itself how to store
        target[i] = value;
      }
    }
    asm volatile("" ::: "memory");
  }
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

EXPORT std::int64_t Read(const char* from, std::int64_t bytes, std::int64_t passes) {
  const Block* source = reinterpret_cast<const Block*>(from);
  const std::int64_t half = bytes / 2 / kWidest;
  Block seen[8] = {};
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    // Two streams, as most kernels have: far from the core one alone does not always keep the prefetcher busy.
    for (std::int64_t i = 0; i + 4 <= half; i += 4) {
#pragma GCC unroll 4
      for (int lane = 0; lane < 4; ++lane) {
        seen[lane] |= source[i + lane];
        seen[lane + 4] |= source[half + i + lane];
      }
    }
    asm volatile("" ::: "memory");
  }
  std::int64_t sink = 0;
  for (const Block& block : seen) {
    for (int i = 0; i < kWidest / 8; ++i) sink |= block[i];
  }
  return sink;
}

// This one brings its own threads: what it costs to start and end a parallel region is what it measures.
EXPORT void ForkJoin(int threads, int times) {
  for (int i = 0; i < times; ++i) {
#pragma omp parallel num_threads(threads)
    asm volatile("" ::: "memory");
  }
}
