#include "dsl/cuda/device_helpers.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace hone::dsl {
namespace {

constexpr DeviceHelper kHelpers[] = {
    {"AwaitEarlier",
     {},
     R"(// Until what was launched before is done and its memory seen: this kernel may begin while that one ends.
__device__ __forceinline__ void AwaitEarlier() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
)"},
    {"Max", {}, R"(// The larger; a NaN on either side is the result.
template <class T>
__device__ T Max(T a, T b) {
  return a != a || a > b ? a : b;
}
__device__ float Max(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
)"},
    {"Min", {}, R"(// The smaller; a NaN on either side is the result.
template <class T>
__device__ T Min(T a, T b) {
  return a != a || a < b ? a : b;
}
__device__ float Min(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
)"},
    {"Sign", {}, R"(template <class T>
__device__ T Sign(T x) {
  return T(x > 0) - T(x < 0);
}
)"},
    {"FloorDiv", {}, R"(// The quotient towards minus infinity.
template <class T>
__device__ T FloorDiv(T a, T b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
)"},
    {"FloorMod", {}, R"(// The remainder that has the sign of b.
template <class T>
__device__ T FloorMod(T a, T b) {
  const T r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ float FloorMod(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
__device__ double FloorMod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"Pack", {}, R"(// Neighbouring elements that are moved as one.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};
)"},
    {"Adds", {}, R"(struct Adds {
  template <class T>
  __device__ static T Of(T a, T b) { return a + b; }
};
)"},
    {"Multiplies", {}, R"(struct Multiplies {
  template <class T>
  __device__ static T Of(T a, T b) { return a * b; }
};
)"},
    {"Larger", {"Max"}, R"(struct Larger {
  template <class T>
  __device__ static T Of(T a, T b) { return Max(a, b); }
};
)"},
    {"Smaller", {"Min"}, R"(struct Smaller {
  template <class T>
  __device__ static T Of(T a, T b) { return Min(a, b); }
};
)"},
    {"Either", {}, R"(struct Either {
  __device__ static bool Of(bool a, bool b) { return a || b; }
};
)"},
    {"Both", {}, R"(struct Both {
  __device__ static bool Of(bool a, bool b) { return a && b; }
};
)"},
    {"Place",
     {},
     R"(// An element and its number among those that are folded; kNowhere: none that is better than nothing.
constexpr int kNowhere = 0x7fffffff;
template <class T>
struct Place {
  T value;
  int at;
};
)"},
    {"FirstLarger", {"Place"}, R"(// The first of the largest; a NaN is the largest.
struct FirstLarger {
  template <class T>
  __device__ static Place<T> Of(Place<T> a, Place<T> b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.value == b.value) return a.at < b.at ? a : b;
    return a.value > b.value ? a : b;
  }
  // A later element than all that `best` has seen.
  template <class T>
  __device__ static void Take(Place<T>& best, T value, int at) {
    if (!(value <= best.value) && best.value == best.value) best = {value, at};
  }
};
)"},
    {"FirstSmaller", {"Place"}, R"(// The first of the smallest; a NaN is the smallest.
struct FirstSmaller {
  template <class T>
  __device__ static Place<T> Of(Place<T> a, Place<T> b) {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) return a_nan ? a : b;
    if (a_nan || a.value == b.value) return a.at < b.at ? a : b;
    return a.value < b.value ? a : b;
  }
  // A later element than all that `best` has seen.
  template <class T>
  __device__ static void Take(Place<T>& best, T value, int at) {
    if (!(value >= best.value) && best.value == best.value) best = {value, at};
  }
};
)"},
    {"MeetCluster",
     {},
     R"(// All threads of the cluster come here before any goes on; what they wrote before is seen after.
__device__ void MeetCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n" ::: "memory");
}
)"},
    {"ArriveCluster", {}, R"(// The first half of a meeting: the block is there. AwaitCluster is the other half.
__device__ void ArriveCluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
)"},
    {"AwaitCluster", {"ArriveCluster"}, R"(__device__ void AwaitCluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
)"},
    {"FoldCluster",
     {"MeetCluster"},
     R"(// The blocks' values folded in their order. `slots` is shared memory for this alone, into which every block puts its
// value in all of them; the blocks have to be there.
template <class How, int BLOCKS, class T>
__device__ T FoldCluster(T value, T* slots) {
  if (threadIdx.x < BLOCKS) {
    unsigned rank, there;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(slots + rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(static_cast<unsigned>(threadIdx.x)));
#pragma unroll
    for (int word = 0; word < sizeof(T) / 4; ++word) {
      asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there + 4 * word),
                   "r"(reinterpret_cast<const unsigned*>(&value)[word])
                   : "memory");
    }
  }
  MeetCluster();
  T all = slots[0];
#pragma unroll 4
  for (int block = 1; block < BLOCKS; ++block) all = How::Of(all, slots[block]);
  return all;
}
)"},
    {"NextNumber", {}, R"(// Numbers the blocks in the order in which they begin.
__device__ int NextNumber(long* counter) {
  __shared__ int number;
  if (threadIdx.x == 0) number = static_cast<int>(atomicAdd(reinterpret_cast<unsigned*>(counter), 1u));
  __syncthreads();
  return number;
}
)"},
    {"Tell",
     {},
     R"(// Puts a value where other blocks look for it, 32 bits at a time, each beside a mark that it is there: `to` held zeros.
template <class T>
__device__ void Tell(long* to, const T& value) {
  unsigned words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < sizeof(T) / 4; ++i)
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to + i), "l"(1ull << 32 | words[i]) : "memory");
}
)"},
    {"Hear", {"Tell"}, R"(// Waits for what another block tells.
template <class T>
__device__ T Hear(const long* from) {
  constexpr int kWords = sizeof(T) / 4;
  unsigned long long marked[kWords];
  bool there;
  do {
    there = true;
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(marked[i]) : "l"(from + i) : "memory");
#pragma unroll
    for (int i = 0; i < kWords; ++i) there &= marked[i] >> 32 == 1;
  } while (!there);
  unsigned words[kWords];
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = static_cast<unsigned>(marked[i]);
  T value;
  memcpy(&value, words, sizeof(T));
  return value;
}
)"},
    {"Exp2Unit",
     {},
     R"(// What the unit for such functions has: 2^x within 2^-22, what would be subnormal as zero.
__device__ float Exp2Unit(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
)"},
    {"InverseUnit",
     {},
     R"(// What the unit for such functions has: 1 / x within a unit in the last place, of what is subnormal as of zero.
__device__ float InverseUnit(float x) {
  float inverse;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  return inverse;
}
)"},
    {"Quotient",
     {},
     R"(// a / b within two units in the last place, also where the unit for quotients gives 0: of divisors beyond 2^126.
__device__ float Quotient(float a, float b) {
  const float by = fabsf(b) > 0x1p126f ? 0.25f : 1.0f;
  return __fdividef(a * by, b * by);
}
)"},
    {"OnePlusErf",
     {"Exp2Unit"},
     R"(// 1 + erf(x), for what is rounded to 16 bits: erfc(|x|) as a power of two whose exponent is a polynomial. Within 6e-5
// of the value down to -2.2, and 4e-4 down to -3, where 1 + erff(x) may be 3e-3 off.
__device__ float OnePlusErf(float x) {
  const float at = fabsf(x);
  float q = -0.00205060815f;
  q = fmaf(q, at, 0.0249748948f);
  q = fmaf(q, at, -0.140403456f);
  q = fmaf(q, at, -0.924495402f);
  q = fmaf(q, at, -1.62638206f);
  q = Exp2Unit(fmaf(q, at, -6.07512549e-05f));
  return x < 0 ? q : 2.0f - q;
}
)"},
    {"OnePlusTanh",
     {"InverseUnit", "Exp2Unit"},
     R"(// 1 + tanh(x), for what is rounded to 16 bits.
__device__ float OnePlusTanh(float x) {
  return 2.0f * InverseUnit(1.0f + Exp2Unit(x * -2.88539008f));
}
)"},
    {"Log2Unit",
     {},
     R"(// What the unit for such functions has: within 2^-22 of the binary logarithm, subnormals as zeros.
__device__ float Log2Unit(float x) {
  float log;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(x));
  return log;
}
)"},
    {"Log",
     {"Log2Unit"},
     R"(// The natural logarithm within 1.3 units in the last place, in fewer instructions than logf. x = 2^n (1 + m), |m| <= 1/3.
// Of what is not a normal positive number the unit's own, times 2^24 and back: zeros, infinities and NaNs stay such.
__device__ float Log(float x) {
  const int bits = __float_as_int(x), power = (bits - 0x3f2aaaab) & 0xff800000;
  const float m = __int_as_float(bits - power) - 1.0f;
  float q = 0.13820201f;
  q = fmaf(q, m, -0.15122183f);
  q = fmaf(q, m, 0.14042316f);
  q = fmaf(q, m, -0.16472326f);
  q = fmaf(q, m, 0.20007919f);
  q = fmaf(q, m, -0.25004238f);
  q = fmaf(q, m, 0.33333266f);
  q = fmaf(q, m, -0.5f);
  const float log = fmaf(static_cast<float>(power), 8.2629583e-8f, fmaf(q, m * m, m));  // 2^-23 ln 2
  const float odd = fmaf(Log2Unit(x * 16777216.0f), 0.693147181f, -16.6355323f);        // ln 2, 24 ln 2
  return static_cast<unsigned>(bits) - 0x800000u < 0x7f000000u ? log : odd;
}
)"},
    {"LoadOnce", {}, R"(// What nobody reads again takes no place in the first-level cache.
template <class T>
__device__ T LoadOnce(const T* from) {
  if constexpr (sizeof(T) != 16) {
    return *from;
  } else {
    unsigned words[4];
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
        : "l"(from));
    T value;
    memcpy(&value, words, sizeof(T));
    return value;
  }
}
)"},
    {"CopyAhead", {}, R"(// Begins to copy 4, 8 or 16 bytes to shared memory; they are there after WaitForCopies.
template <class T>
__device__ void CopyAhead(T* to, const T* from) {
  const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(from) : "memory");
  else if (sizeof(T) == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(there), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
}
)"},
    {"CopyAheadOrZero", {}, R"(// The same, but zeros if there is nothing there; it has to be memory all the same.
template <class T>
__device__ void CopyAheadOrZero(T* to, const T* from, bool is_there) {
  const unsigned there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  const int bytes = is_there ? static_cast<int>(sizeof(T)) : 0;
  if (sizeof(T) == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
  else if (sizeof(T) == 8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(there), "l"(from), "r"(bytes) : "memory");
}
)"},
    {"WaitForCopies", {}, R"(// For all copies that this thread has begun.
__device__ void WaitForCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
)"},
    {"MeetAll", {}, R"(// Waits until the blocks have come here `times` times in all, and sees what they wrote before.
__device__ void MeetAll(int* counter, int times) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
    while (*static_cast<volatile int*>(counter) < times) {
    }
    __threadfence();
  }
  __syncthreads();
}
)"},
    {"Across", {}, R"(// What the thread has that differs in these bits of its number.
template <class T>
__device__ T Across(T value, int bits) {
  return __shfl_xor_sync(0xffffffffu, value, bits);
}
)"},
    {"AcrossPlace", {"Place"}, R"(template <class T>
__device__ Place<T> Across(Place<T> place, int bits) {
  return {__shfl_xor_sync(0xffffffffu, place.value, bits), __shfl_xor_sync(0xffffffffu, place.at, bits)};
}
)"},
    {"Common", {}, R"(// The middle one of what three threads of the warp have: one of them may be far off.
__device__ float Common(float value) {
  const float a = __shfl_sync(0xffffffffu, value, 0), b = __shfl_sync(0xffffffffu, value, 1),
              c = __shfl_sync(0xffffffffu, value, 2);
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}
)"},
    {"Fold",
     {"Across"},
     R"(// The values of LANES neighbouring threads folded; every one of them gets the result. LANES is a power of two; above 32
// all threads of the block must come here, and `shared` holds a value for each warp of it.
template <class How, int LANES, class T>
__device__ T Fold(T value, T* shared) {
#pragma unroll
  for (int step = (LANES < 32 ? LANES : 32) / 2; step > 0; step /= 2)
    value = How::Of(value, Across(value, step));
  if (LANES <= 32) return value;
  const int warp = threadIdx.x / 32, first = threadIdx.x / LANES * (LANES / 32);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[warp] = value;
  __syncthreads();
  value = shared[first + threadIdx.x % (LANES / 32)];
#pragma unroll
  for (int step = LANES / 64; step > 0; step /= 2) value = How::Of(value, Across(value, step));
  return value;
}
)"},
};

}  // namespace

// Of programs that store reals of 8 bits.
const std::string_view kRoundedText =
    R"(// A float as PyTorch rounds it to 8 bits: what is too large becomes the infinity, where the type has one. The
// processor's own conversion takes the largest number.
template <class T>
__device__ T Rounded(float x);
template <>
[[maybe_unused]] __device__ inline __nv_fp8_e4m3 Rounded(float x) {
  __nv_fp8_e4m3 made;
  made.__x = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  return made;
}
template <>
[[maybe_unused]] __device__ inline __nv_fp8_e5m2 Rounded(float x) {
  __nv_fp8_e5m2 made;
  made.__x = fabsf(x) >= 61440.0f ? (x < 0.0f ? 0xfc : 0x7c) : __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  return made;
}
)";

const DeviceHelper& FindDeviceHelper(std::string_view name) {
  const auto* helper =
      std::find_if(std::begin(kHelpers), std::end(kHelpers), [&](const DeviceHelper& one) { return one.name == name; });
  HONE_CHECK(helper != std::end(kHelpers), "a helper that is not there");
  return *helper;
}

}  // namespace hone::dsl
