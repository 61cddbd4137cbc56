// What kernels on the tensor cores of compute capability 9.0 say in PTX: barriers in shared memory that count bytes as
// well as threads, the bulk copy engine that fills tiles behind them, and descriptors of tiles for wgmma.
#pragma nv_diag_suppress 177  // no kernel needs all of it
struct __align__(64) TensorMap {
  unsigned long opaque[16];
};

__device__ __forceinline__ unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// --- Barriers, by their address in shared memory.

__device__ __forceinline__ void InitBarrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
__device__ __forceinline__ void PublishBarriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Arrives, and has the barrier wait for `bytes` of copies besides.
__device__ __forceinline__ void ExpectBytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void Arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives at the same barrier of another block of the cluster. What is told by it is that a tile has been read by
// wgmma, whose end has been waited for; a release for the whole cluster would cost a sixth of the kernel's time.
__device__ __forceinline__ void ArriveAt(unsigned barrier, unsigned block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}
__device__ __forceinline__ void WaitFor(unsigned barrier, unsigned phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra out;\nbra again;\nout:\n}" ::"r"(barrier),
      "r"(phase)
      : "memory");
}
__device__ __forceinline__ unsigned BlockOfCluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void SyncCluster() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// Two warpgroups take turns: one goes on when the other has given it the turn.
__device__ __forceinline__ void TakeTurn(int warpgroup) {
  asm volatile("bar.sync %0, 256;" ::"r"(warpgroup + 1) : "memory");
}
__device__ __forceinline__ void GiveTurn(int warpgroup) {
  asm volatile("bar.arrive %0, 256;" ::"r"(warpgroup + 1) : "memory");
}

// --- Copies of boxes of a [part, batch, row, k] tensor to shared memory; `barrier` counts their bytes.

__device__ __forceinline__ void CopyBox(unsigned to, const TensorMap* map, int k, int row, int batch, int part,
                                        unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
      "[%2];" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(k), "r"(row), "r"(batch), "r"(part)
      : "memory");
}
// To the same place in each block of the cluster whose bit in `blocks` is set, and its barrier.
__device__ __forceinline__ void CopyBoxToAll(unsigned to, const TensorMap* map, int k, int row, int batch, int part,
                                             unsigned barrier, unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
      "l"(reinterpret_cast<unsigned long>(map)), "r"(barrier), "r"(k), "r"(row), "r"(batch), "r"(part), "h"(blocks)
      : "memory");
}
// `bytes` from memory to shared memory, as they lie; both at multiples of 16, as the count.
__device__ __forceinline__ void CopyBytes(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void StoreShared(unsigned to, unsigned word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
}
__device__ __forceinline__ void StoreShared(unsigned to, const unsigned (&words)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
}
// What this thread has written to shared memory may be copied or multiplied from there, once a barrier is behind it.
__device__ __forceinline__ void PublishToCopies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void FetchMap(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<unsigned long>(map)) : "memory");
}

// --- Products.

// Rows of 128, 64 or 32 bytes, one after the other, swizzled in groups of eight rows: what a box of 64 two-byte elements
// a row becomes.
template <int ROW_BYTES = 128>
__device__ __forceinline__ unsigned long TileDescriptor(unsigned address) {
  constexpr unsigned long kSwizzle = ROW_BYTES == 128 ? 1 : ROW_BYTES == 64 ? 2 : 3, kEightRows = ROW_BYTES * 8 / 16;
  return static_cast<unsigned long>((address & 0x3ffff) >> 4) | (1ul << 16) | (kEightRows << 32) | (kSwizzle << 62);
}
__device__ __forceinline__ void BeginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void CommitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void WaitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
template <int REGISTERS>
__device__ __forceinline__ void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// --- Numbers as sums of two halves.

// The power of two that brings `largest` into [2^14, 2^15), where halves are finite and their sum has most bits below,
// and its inverse.
__device__ __forceinline__ float ScaleFor(float largest, float& inverse) {
  const int up = min(max(141 - (__float_as_int(largest) >> 23), -126), 126);
  inverse = __int_as_float((127 - up) << 23);
  return __int_as_float((127 + up) << 23);
}
// a and b, rounded, as the low and the high half of a word; what rounding took from them as `rest`.
__device__ __forceinline__ unsigned SplitPair(float a, float b, unsigned& rest) {
  unsigned high;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(high) : "f"(b), "f"(a));
  float back_a, back_b;
  asm("{\n.reg .b16 x, y;\nmov.b32 {x, y}, %2;\ncvt.f32.f16 %0, x;\ncvt.f32.f16 %1, y;\n}"
      : "=f"(back_a), "=f"(back_b)
      : "r"(high));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(rest) : "f"(b - back_b), "f"(a - back_a));
  return high;
}
__device__ __forceinline__ unsigned HalfPair(float a, float b) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
  return pair;
}
__device__ __forceinline__ unsigned BrainPair(float a, float b) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
  return pair;
}
