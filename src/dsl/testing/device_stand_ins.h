// What stands in on the host for what a device's text with wgmma, barriers and the copy engine uses: its types, blocks
// whose threads take turns, and what it says in PTX, done at once. C++ that goes before the text, see device_blocks.h.
#pragma once

#include <string_view>

namespace hone::dsl::testing {

// Both operands of shared memory lie as the copy engine lays boxes, which is what a descriptor says.
inline constexpr std::string_view kDeviceProducts = R"(template <class T, int N>
struct Products {
  static int Row(int i) { return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8; }
  static int Column(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }
  static T At(unsigned address, int row_bytes = 128) {
    return *reinterpret_cast<T*>(there->memory + Swizzled(address, row_bytes));
  }
  static unsigned Begin(unsigned long d) { return (d & 0x3fff) << 4; }
  static constexpr int kDepth = 32 / sizeof(T);
  static float Along(unsigned long d, int row, int k) {
    const int row_bytes = 128 >> (d >> 62);
    return At(Begin(d) + row * row_bytes + k * sizeof(T), row_bytes);
  }
  static float Across(unsigned long d, int k, int column) {
    return At(Begin(d) + column / 64 * ((d >> 16 & 0x3fff) << 4) + k * 128 + column % 64 * 2);
  }
  static void Of(float (&d)[N / 2], unsigned long a, unsigned long b, int add) {
    for (int i = 0; i < N / 2; ++i) {
      if (!add) d[i] = 0;
      for (int k = 0; k < kDepth; ++k) d[i] += Along(a, Row(i), k) * Along(b, Column(i), k);
    }
  }
  static void AfterShared(float (&d)[N / 2], unsigned long a, unsigned long b) {
    for (int i = 0; i < N / 2; ++i)
      for (int k = 0; k < 16; ++k) d[i] += Along(a, Row(i), k) * Across(b, k, Column(i));
  }
  static void After(float (&d)[N / 2], const unsigned* a, unsigned long b) {
    Warp& warp = there->warps[threadIdx.x / 32];
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) warp.words[i][lane] = a[i];
    warp.sync.Wait();
    for (int i = 0; i < N / 2; ++i)
      for (int k = 0; k < 16; ++k) {
        const unsigned word = warp.words[i / 2 % 2 + k / 8 * 2][lane / 4 * 4 + k % 8 / 2];
        d[i] += static_cast<float>(std::bit_cast<T>(static_cast<unsigned short>(word >> k % 2 * 16))) *
                Across(b, k, Column(i));
      }
    warp.sync.Wait();
  }
};)";

inline constexpr std::string_view kDeviceStandIns = R"(#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>
#define asm
#define volatile(...)
#define __device__
#define __shared__ static  // blocks that are no cluster come one after the other
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
struct Three {
  int x = 0, y = 0, z = 0;
};
static Three threadIdx, blockIdx, gridDim;
struct uint4 {
  unsigned x, y, z, w;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
static float2 make_float2(float x, float y) { return {x, y}; }
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
using std::max;
using std::min;
static int __float_as_int(float x) { return std::bit_cast<int>(x); }
static float __int_as_float(int x) { return std::bit_cast<float>(x); }
static float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
static float __fdividef(float x, float y) { return x / y; }
struct __half {
  _Float16 value;
  __half() = default;
  __half(float x) : value(static_cast<_Float16>(x)) {}
  operator float() const { return value; }
};
static __half __float2half(float x) { return x; }
struct __nv_bfloat16 {
  unsigned short bits;
  operator float() const { return std::bit_cast<float>(static_cast<unsigned>(bits) << 16); }
};
struct __half2 {
  __half x, y;
};
static float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
static __nv_bfloat16 __float2bfloat16(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  return {static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
template <class T>
unsigned PairOf(float a, float b) {
  T low, high;
  if constexpr (sizeof(T) == sizeof(__half) && std::is_same_v<T, __half>) {
    low = __float2half(a), high = __float2half(b);
  } else {
    low = __float2bfloat16(a), high = __float2bfloat16(b);
  }
  return std::bit_cast<unsigned short>(low) | static_cast<unsigned>(std::bit_cast<unsigned short>(high)) << 16;
}

// --- Elements of 8 bits.
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
template <__nv_fp8_interpretation_t KIND>
struct Eight {
  unsigned char bits;
  operator float() const {
    constexpr int kFraction = KIND == __NV_E4M3 ? 3 : 2, kBias = KIND == __NV_E4M3 ? 7 : 15;
    const int exponent = bits >> kFraction & ((1 << (7 - kFraction)) - 1), fraction = bits & ((1 << kFraction) - 1);
    const float size = exponent == 0 ? std::ldexp(fraction, 1 - kBias - kFraction)
                                     : std::ldexp(fraction + (1 << kFraction), exponent - kBias - kFraction);
    return bits & 0x80 ? -size : size;
  }
};
using __nv_fp8_e4m3 = Eight<__NV_E4M3>;
using __nv_fp8_e5m2 = Eight<__NV_E5M2>;
struct BrainPairs {
  using Of = __nv_bfloat16;
};
struct HalfPairs {
  using Of = __half;
};
template <class Pairs, class Element>
void EightAsPairs(unsigned first, unsigned second, unsigned (&pairs)[4]) {
  const unsigned words[2] = {first, second};
  Element elements[8];
  std::memcpy(elements, words, 8);
  for (int p = 0; p < 4; ++p) pairs[p] = PairOf<typename Pairs::Of>(elements[p * 2], elements[p * 2 + 1]);
}
template <class Pairs, __nv_fp8_interpretation_t KIND>
void RealsAsPairs(unsigned first, unsigned second, unsigned (&pairs)[4]) {
  EightAsPairs<Pairs, Eight<KIND>>(first, second, pairs);
}
template <class Pairs>
void BytesAsPairs(unsigned first, unsigned second, unsigned (&pairs)[4]) {
  EightAsPairs<Pairs, signed char>(first, second, pairs);
}
static unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
  const unsigned long all = low | static_cast<unsigned long>(high) << 32;
  unsigned made = 0;
  for (int b = 0; b < 4; ++b) made |= (all >> (which >> b * 4 & 7) * 8 & 0xff) << b * 8;
  return made;
}
template <int WORDS>
void ReadOnce(unsigned (&to)[WORDS], const void* from, bool is_there) {
  std::memset(to, 0, sizeof(to));
  if (is_there) std::memcpy(to, from, sizeof(to));
}

)";

// Blocks, behind kTakingTurns.
inline constexpr std::string_view kDeviceBlocks = R"(struct Barrier {
  int arrivals = 0, left = 0;
  long bytes = 0;
  unsigned phase = 0;
  void Change(int arrive, long add) {
    left -= arrive;
    bytes += add;
    if (left != 0 || bytes != 0) return;
    left = arrivals;
    phase ^= 1;
  }
};
struct Warp {
  Meeting sync{32};
  unsigned words[4][32];
};
struct Warpgroup {
  Meeting sync{128};
};
struct Block {
  alignas(1024) unsigned char memory[256 << 10];
  std::map<unsigned, Barrier> barriers;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  Meeting all, two{256};
  std::vector<std::unique_ptr<Block>>* cluster;
  Meeting* together;
  int rank;
  Block(int threads, int number) : warps(threads / 32), warpgroups(threads / 128), all(threads), rank(number) {}
};
static Block* there;
// What is static comes first; tiles begin anywhere.
static unsigned char* Dynamic() { return there->memory + 4096 + 16; }
template <class T>
T& Static() { return *reinterpret_cast<T*>(there->memory); }
static float rsqrtf(float x) { return 1 / std::sqrt(x); }
// Arrays of a kernel that has no tiles.
template <class T>
T* Array(int offset) { return reinterpret_cast<T*>(Dynamic() - 16 + offset); }
static void __syncthreads() { there->all.Wait(); }
static void __syncwarp() { there->warps[threadIdx.x / 32].sync.Wait(); }
template <class T>
static T __shfl_xor_sync(unsigned, T x, int with) {
  Warp& warp = there->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  unsigned words[sizeof(T) / 4];
  std::memcpy(words, &x, sizeof(T));
  for (std::size_t n = 0; n < sizeof(T) / 4; ++n) warp.words[n][lane] = words[n];
  warp.sync.Wait();
  for (std::size_t n = 0; n < sizeof(T) / 4; ++n) words[n] = warp.words[n][lane ^ with];
  warp.sync.Wait();
  std::memcpy(&x, words, sizeof(T));
  return x;
}
template <class Kernel>
void RunGrid(int blocks, int threads, int cluster, const Kernel& kernel) {
  gridDim.x = blocks;
  Threads of_cluster(threads * cluster, 256 << 10);
  for (int first = 0; first < blocks; first += cluster) {
    std::vector<std::unique_ptr<Block>> made;
    Meeting together(threads * cluster);
    for (int b = 0; b < cluster; ++b) {
      made.push_back(std::make_unique<Block>(threads, b));
      std::memset(made[b]->memory, 0xff, sizeof(made[b]->memory));
      made[b]->cluster = &made;
      made[b]->together = &together;
    }
    of_cluster.Run(kernel, false, [&](int t) {
      threadIdx.x = t % threads, blockIdx.x = first + t / threads, there = made[t / threads].get();
    });
  }
}
struct Pointer {
  void* address;
  template <class T>
  operator T*() const { return static_cast<T*>(address); }
};

// --- What is said in PTX on a device.
struct TensorMap {
  unsigned char* at;
  long bytes;
  bool tf32;
  long extents[5], strides[5];  // outermost first, as those below
  int rows, spatial;            // 0: it is of boxes
  int lower[3], upper[3], step[3];
  int row_bytes;  // of a line of what is copied
  // An element as it comes, by its place from the innermost dimension on; 0 outside.
  template <class Places>
  unsigned Element(const Places& place) const {
    const int rank = static_cast<int>(std::size(place));
    long element = 0;
    for (int d = 0; d < rank; ++d) {
      const long p = place[rank - 1 - d];
      if (p < 0 || p >= extents[d]) return 0;
      element += p * strides[d];
    }
    unsigned word = 0;
    std::memcpy(&word, at + element * bytes, bytes);
    return tf32 ? (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu : word;
  }
};
static unsigned SharedAddress(const void* pointer) {
  return static_cast<const unsigned char*>(pointer) - there->memory;
}
// Lines of so many bytes, 16 of them at a time.
static unsigned Swizzled(unsigned address, int row_bytes = 128) {
  return address ^ (address >> 7 & (row_bytes / 16 - 1)) << 4;
}
static void InitBarrier(unsigned barrier, int arrivals) {
  Barrier& made = there->barriers[barrier];
  made.arrivals = made.left = arrivals;
}
static void PublishBarriers() {}
static void PublishToCopies() {}
static void ExpectBytes(unsigned barrier, unsigned bytes) { there->barriers.at(barrier).Change(1, bytes); }
static void Arrive(unsigned barrier) { there->barriers.at(barrier).Change(1, 0); }
static void ArriveAt(unsigned barrier, unsigned block) { (*there->cluster)[block]->barriers.at(barrier).Change(1, 0); }
static void WaitFor(unsigned barrier, unsigned phase) { WaitWhile(there->barriers.at(barrier).phase, phase); }
static unsigned BlockOfCluster() { return there->rank; }
static void SyncCluster() { there->together->Wait(); }
static void TakeTurn(int) { there->two.Wait(); }
static void CopyBoxTo(Block& block, unsigned to, const TensorMap* map, int k, int row, int batch, int part,
                      unsigned barrier) {
  for (int r = 0; r < map->rows; ++r)
    for (int c = 0; c < map->row_bytes / map->bytes; ++c) {
      const long place[] = {k + c, row + r, batch, part};
      const unsigned element = map->Element(place);
      std::memcpy(block.memory + Swizzled(to + r * map->row_bytes + c * map->bytes, map->row_bytes), &element,
                  map->bytes);
    }
  block.barriers.at(barrier).Change(0, -map->rows * map->row_bytes);
}
// `places`: channel, spatial ones innermost first, image; then by how much each spatial one is moved.
static void CopyPixelsTo(Block& block, unsigned to, const TensorMap* map, std::vector<long> places, unsigned barrier) {
  const int spatial = map->spatial;
  const std::vector<long> moved(places.begin() + spatial + 2, places.end());
  places.resize(spatial + 2);
  std::vector<long> at;
  for (int r = 0; r < map->rows; ++r) {
    for (int c = 0; c < 128 / map->bytes; ++c) {
      at = places;
      at[0] += c;
      for (int d = 0; d < spatial; ++d) at[1 + d] += moved[d];
      const unsigned element = map->Element(at);
      std::memcpy(block.memory + Swizzled(to + r * 128 + c * map->bytes), &element, map->bytes);
    }
    int d = 0;
    for (; d < spatial; ++d) {
      const int of = spatial - 1 - d;
      places[1 + d] += map->step[of];
      if (places[1 + d] <= map->extents[1 + of] - 1 + map->upper[of]) break;
      places[1 + d] = map->lower[of];
    }
    if (d == spatial) ++places[1 + d];
  }
  block.barriers.at(barrier).Change(0, -map->rows * 128);
}
template <class... Places>
void CopyPixels(unsigned to, const TensorMap* map, Places... places) {
  std::vector<long> all = {places...};
  const unsigned barrier = all.back();
  all.pop_back();
  CopyPixelsTo(*there, to, map, all, barrier);
}
template <class... Places>
void CopyPixelsToAll(unsigned to, const TensorMap* map, Places... places) {
  std::vector<long> all = {places...};
  const unsigned barrier = all[all.size() - 2], blocks = all.back();
  all.resize(all.size() - 2);
  for (unsigned b = 0; b < there->cluster->size(); ++b)
    if (blocks >> b & 1) CopyPixelsTo(*(*there->cluster)[b], to, map, all, barrier);
}
static void CopyBox(unsigned to, const TensorMap* map, int k, int row, int batch, int part, unsigned barrier) {
  CopyBoxTo(*there, to, map, k, row, batch, part, barrier);
}
static void CopyBoxToAll(unsigned to, const TensorMap* map, int k, int row, int batch, int part, unsigned barrier,
                         unsigned short blocks) {
  for (unsigned b = 0; b < there->cluster->size(); ++b)
    if (blocks >> b & 1) CopyBoxTo(*(*there->cluster)[b], to, map, k, row, batch, part, barrier);
}
static void FetchMap(const TensorMap*) {}
static void StoreShared(unsigned to, unsigned word) { std::memcpy(there->memory + to, &word, 4); }
static void StoreShared(unsigned to, const unsigned (&words)[4]) { std::memcpy(there->memory + to, words, 16); }
template <int ROW_BYTES = 128>
unsigned long TileDescriptor(unsigned address) {
  return address >> 4 | (ROW_BYTES == 128 ? 0ul : ROW_BYTES == 64 ? 1ul : 2ul) << 62;
}
static void BeginProducts() {}
static void CommitProducts() {}
// They are done when all of a warpgroup's are.
template <int LEFT>
void WaitForProducts() {
  there->warpgroups[threadIdx.x / 128].sync.Wait();
}
template <int REGISTERS>
void TakeRegisters() {}
template <int REGISTERS>
void GiveRegisters() {}
static unsigned BrainPair(float a, float b) { return PairOf<__nv_bfloat16>(a, b); }
static unsigned HalfPair(float a, float b) { return PairOf<__half>(a, b); }
static void StoreMatrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  Warp& warp = there->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  warp.words[0][lane] = to;
  warp.sync.Wait();
  const unsigned words[4] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    std::memcpy(there->memory + warp.words[0][i * 8 + lane / 4] + lane % 4 * 4, &words[i], 4);
  warp.sync.Wait();
}
template <class Pair>
void LoadMatrices(unsigned from, Pair* to) {
  Warp& warp = there->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32;
  warp.words[0][lane] = from;
  warp.sync.Wait();
  for (int i = 0; i < 4; ++i)
    std::memcpy(&to[i], there->memory + warp.words[0][i * 8 + lane / 4] + lane % 4 * 4, 4);
  warp.sync.Wait();
}
static float Tf32Of(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  return std::bit_cast<float>(bits + 0x1000 & ~0x1fffu);
}
template <class T>
void MultiplyAdd(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  Warp& warp = there->warps[threadIdx.x / 32];
  const int lane = threadIdx.x % 32, each = 4 / sizeof(T);
  const auto of = [&](int word, int thread, int term) -> float {
    const unsigned bits = warp.words[word][thread];
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<float>(bits);
    } else {
      return std::bit_cast<T>(static_cast<unsigned short>(bits >> term % 2 * 16));
    }
  };
  float rows[2][16];
  for (int i = 0; i < 4; ++i) warp.words[i][lane] = a[i];
  warp.sync.Wait();
  for (int half = 0; half < 2; ++half)
    for (int k = 0; k < 8 * each; ++k)
      rows[half][k] = of(half + k / (4 * each) * 2, lane / 4 * 4 + k / each % 4, k);
  warp.sync.Wait();
  warp.words[0][lane] = b0, warp.words[1][lane] = b1;
  warp.sync.Wait();
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 8 * each; ++k)
      d[i] += rows[i / 2][k] * of(k / (4 * each), (lane % 4 * 2 + i % 2) * 4 + k / each % 4, k);
  warp.sync.Wait();
}
static void MeetWarpgroup(int warpgroup) { there->warpgroups[warpgroup].sync.Wait(); }
static void StoreBox(const TensorMap* map, int column, int row, int batch, unsigned from) {
  for (int r = 0; batch < map->extents[0] && r < 64 && row + r < map->extents[1]; ++r)
    for (int c = 0; c < 64 && column + c < map->extents[2]; ++c)
      std::memcpy(map->at + 2 * (batch * map->strides[0] + (row + r) * map->strides[1] + column + c),
                  there->memory + Swizzled(from + r * 128 + c * 2), 2);
}
static void CommitStores() {}
template <int LEFT>
void WaitForStores() {}

)";

}  // namespace hone::dsl::testing
