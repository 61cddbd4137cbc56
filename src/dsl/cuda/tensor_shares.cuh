// Products of a few rows with many columns on the tensor cores of compute capability 9.0, of which every block has an
// equal share. dsl/cuda/ways/matmul_stream.cc says how it goes. Uses tensor_core.cuh.

// Of all units of all tiles, `UNITS` a tile, in order, what is of each of so many blocks: it begins and ends anywhere.
template <long ALL, int UNITS, int BLOCKS>
struct Shares {
  __device__ __forceinline__ static int BeginOf(int block) { return static_cast<int>(ALL * block / BLOCKS); }
  // The block that has the last unit of a tile.
  __device__ __forceinline__ static int LastOf(int tile) {
    int block = static_cast<int>(((tile + 1l) * UNITS - 1) * BLOCKS / ALL);
    while (BeginOf(block + 1) < (tile + 1) * UNITS) ++block;
    return block;
  }
};

// Whatever the four warps that multiply have done so far, all of them have.
__device__ __forceinline__ void SyncConsumers() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

// Leaves what a block has made of a tile that another one begins for that one, as its `part`, 128 numbers for each of `sums`.
// `flag` is 0 before, and again when that one has seen it.
template <int TILES, int EACH>
__device__ __forceinline__ void Give(float* part, int* flag, const float (&sums)[TILES][EACH]) {
#pragma unroll
  for (int i = 0; i < TILES * EACH; ++i) __stcg(part + i * 128 + threadIdx.x, sums[i / EACH][i % EACH]);
  __threadfence();
  SyncConsumers();
  if (threadIdx.x == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}
// Adds up what the blocks from `first` on have made of it, `blocks` of them, in their order. `parts` and `flags` are of
// all blocks.
template <int TILES, int EACH>
__device__ __forceinline__ void Take(const float* parts, int* flags, int first, int blocks, float (&sums)[TILES][EACH]) {
  constexpr int kCount = TILES * EACH;
  for (int i = threadIdx.x; i < blocks; i += 128) {
    int there;
    do {
      asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(there) : "l"(flags + first + i) : "memory");
    } while (there == 0);
    flags[first + i] = 0;
  }
  SyncConsumers();
  const float* part = parts + first * (kCount * 128) + threadIdx.x;
#pragma unroll 4
  for (int block = 0; block < blocks; ++block, part += kCount * 128) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i / EACH][i % EACH] += __ldcg(part + i * 128);
  }
}
