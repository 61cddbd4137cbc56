// Sixteen bytes that nobody reads again.
__device__ __forceinline__ uint4 StreamedWeights(const void* from) {
  uint4 to;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)
               : "l"(from));
  return to;
}
// Likewise; another warp wants what is beside them in a line of 128, soon.
__device__ __forceinline__ uint4 StreamedFromLine(const void* from) {
  uint4 to;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to.x), "=r"(to.y), "=r"(to.z), "=r"(to.w)
               : "l"(from));
  return to;
}
// 4, 8, 16 bytes or more, likewise.
__device__ __forceinline__ void StreamWords(unsigned (&to)[1], const void* from) {
  asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(to[0]) : "l"(from));
}
__device__ __forceinline__ void StreamWords(unsigned (&to)[2], const void* from) {
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "l"(from));
}
__device__ __forceinline__ void StreamWords(unsigned (&to)[4], const void* from) {
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(from));
}
template <int WORDS>
__device__ __forceinline__ void StreamWords(unsigned (&to)[WORDS], const void* from) {
  static_assert(WORDS % 4 == 0);
#pragma unroll
  for (int w = 0; w < WORDS; w += 4)
    StreamWords(reinterpret_cast<unsigned(&)[4]>(to[w]), static_cast<const unsigned*>(from) + w);
}
// Bytes of four columns, a word for each element of K, as a word for each column.
__device__ __forceinline__ void TurnBytes(unsigned k0, unsigned k1, unsigned k2, unsigned k3, unsigned& c0,
                                          unsigned& c1, unsigned& c2, unsigned& c3) {
  const unsigned low_01 = __byte_perm(k0, k1, 0x5140), high_01 = __byte_perm(k0, k1, 0x7362);
  const unsigned low_23 = __byte_perm(k2, k3, 0x5140), high_23 = __byte_perm(k2, k3, 0x7362);
  c0 = __byte_perm(low_01, low_23, 0x5410), c1 = __byte_perm(low_01, low_23, 0x7632);
  c2 = __byte_perm(high_01, high_23, 0x5410), c3 = __byte_perm(high_01, high_23, 0x7632);
}

__device__ __forceinline__ float2 WideOf(__nv_bfloat162 pair) { return __bfloat1622float2(pair); }
__device__ __forceinline__ float2 WideOf(__half2 pair) { return __half22float2(pair); }
__device__ __forceinline__ void NarrowTo(__nv_bfloat162& to, float2 pair) { to = __float22bfloat162_rn(pair); }
__device__ __forceinline__ void NarrowTo(__half2& to, float2 pair) { to = __float22half2_rn(pair); }

// Pairs of 16-bit reals as words, rounded as two by themselves; `mma` adds 16 columns x 8 rows, of 16 elements of K.
#define HONE_PAIRS(NAME, TYPE, PAIR)                                                                                  \
  struct NAME {                                                                                                       \
    static __device__ __forceinline__ float2 Wide(unsigned pair) { return WideOf(reinterpret_cast<PAIR&>(pair)); }    \
    static __device__ __forceinline__ unsigned Narrow(float2 wide) {                                                  \
      unsigned pair;                                                                                                  \
      NarrowTo(reinterpret_cast<PAIR&>(pair), wide);                                                                  \
      return pair;                                                                                                    \
    }                                                                                                                 \
    static __device__ __forceinline__ unsigned Fma(unsigned a, unsigned b, unsigned c) {                              \
      unsigned made;                                                                                                  \
      asm("fma.rn." TYPE "x2 %0, %1, %2, %3;" : "=r"(made) : "r"(a), "r"(b), "r"(c));                                 \
      return made;                                                                                                    \
    }                                                                                                                 \
    static __device__ __forceinline__ void Multiply(float (&sum)[4], unsigned low, unsigned high, unsigned low_8,     \
                                                    unsigned high_8, unsigned x, unsigned x_8) {                      \
      asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE                                             \
                   ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                             \
                   : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])                                           \
                   : "r"(low), "r"(high), "r"(low_8), "r"(high_8), "r"(x), "r"(x_8));                                 \
    }                                                                                                                 \
  };
HONE_PAIRS(BrainPairs, "bf16", __nv_bfloat162)
HONE_PAIRS(HalfPairs, "f16", __half2)
#undef HONE_PAIRS

// Eight signed bytes as four pairs. Of bf16, whose significand has 8 bits: the lower 7 of a byte behind the exponent of
// 128 are 128 more than themselves, and its sign there makes 128 or 256, which is taken away.
template <class Pairs>
__device__ __forceinline__ void BytesAsPairs(unsigned first, unsigned second, unsigned (&pairs)[4]) {
  const unsigned words[2] = {first, second};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned both = __byte_perm(words[i / 2], 0x43434343, i % 2 == 0 ? 0x5140 : 0x7362);
    pairs[i] = Pairs::Fma(both & 0xff80ff80, 0xbf80bf80, both & 0xff7fff7f);
  }
}
// Of f16, which has room for 128 more behind the exponent of 1024: 1152 is taken away.
template <>
__device__ __forceinline__ void BytesAsPairs<HalfPairs>(unsigned first, unsigned second, unsigned (&pairs)[4]) {
  const unsigned words[2] = {first ^ 0x80808080, second ^ 0x80808080};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    pairs[i] = HalfPairs::Fma(__byte_perm(words[i / 2], 0x64646464, i % 2 == 0 ? 0x5140 : 0x7362), 0x3c003c00, 0xe480e480);
}

// Eight numbers of 4 bits, of each byte those of `first` before those of `second`, as four pairs: each number stands in
// the last bits behind an exponent (`above`, a pair, in which a sign is turned as well); `less` takes away what is too
// much.
template <class Pairs>
__device__ __forceinline__ void NibblesAsPairs(unsigned first, unsigned second, unsigned above, unsigned less,
                                               unsigned one, unsigned (&pairs)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned both = __byte_perm(first, second, i * 0x11 + (i + 4) * 0x1100);
    pairs[i] = Pairs::Fma((both & 0x000f000f) ^ above, one, less);
  }
}

// Of one column, which is the bits from `shift` on of the words of eight of K, as four pairs.
template <class Pairs, int WORDS>
__device__ __forceinline__ void ColumnAsPairs(const unsigned (&words)[8][WORDS], int word, int shift, unsigned above,
                                              unsigned less, unsigned one, unsigned (&pairs)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned both = __byte_perm(words[2 * i][word], words[2 * i + 1][word], shift < 16 ? 0x5410 : 0x7632);
    pairs[i] = Pairs::Fma((both >> shift % 16 & 0x000f000f) ^ above, one, less);
  }
}
