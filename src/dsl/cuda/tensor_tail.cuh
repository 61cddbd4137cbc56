// The last tiles of a product on the tensor cores of compute capability 9.0, made in parts of K by several blocks;
// dsl/cuda/tensor_tail.h says how it goes. Uses tensor_end.cuh.

// What a block makes, one after the other: steps [first, last) of tile `item`. First a part of one of the TILES that
// are made in PARTS, if there is one for it, then whole ones, BLOCKS apart, behind those.
template <int STEPS, int TILES, int PARTS, int BLOCKS>
struct Tail {
  int block, item, first, last;

  __device__ __forceinline__ explicit Tail(int block) : block(block) {
    const int part = block / TILES;
    const bool whole = part >= PARTS;
    item = whole ? TILES + block : block % TILES;
    first = whole ? 0 : STEPS * part / PARTS;
    last = whole ? STEPS : STEPS * (part + 1) / PARTS;
  }
  __device__ __forceinline__ void Next() {
    item = item < TILES ? TILES + block : item + BLOCKS;
    first = 0;
    last = STEPS;
  }
};

// Leaves what a warpgroup has made of a part for who has the tile's first, as its `part`. `flag` is 0 before, and again
// when that one has seen it.
template <int COUNT>
__device__ __forceinline__ void LeaveSums(float* part, int* flag, const float (&sums)[COUNT], int warpgroup,
                                          int thread) {
#pragma unroll
  for (int i = 0; i < COUNT / 4; ++i)
    __stcg(reinterpret_cast<float4*>(part) + i * 128 + thread,
           make_float4(sums[i * 4], sums[i * 4 + 1], sums[i * 4 + 2], sums[i * 4 + 3]));
  __threadfence();
  MeetWarpgroup(warpgroup);
  if (thread == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}

// Adds up what the same warpgroup of `blocks` others has made of the tile, in their order: each one's part and flag lie
// `parts_apart` and `flags_apart` behind the one's before.
template <int COUNT>
__device__ __forceinline__ void AddSums(const float* part, int* flag, int blocks, long parts_apart, int flags_apart,
                                        float (&sums)[COUNT], int warpgroup, int thread) {
  for (int block = 0; block < blocks; ++block, part += parts_apart, flag += flags_apart) {
    if (thread == 0) {
      int there;
      do {
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(there) : "l"(flag) : "memory");
      } while (there == 0);
      *flag = 0;
    }
    MeetWarpgroup(warpgroup);
#pragma unroll
    for (int i = 0; i < COUNT / 4; ++i) {
      const float4 four = __ldcg(reinterpret_cast<const float4*>(part) + i * 128 + thread);
      sums[i * 4] += four.x;
      sums[i * 4 + 1] += four.y;
      sums[i * 4 + 2] += four.z;
      sums[i * 4 + 3] += four.w;
    }
  }
}
