// How tiles of 16-bit results leave through shared memory: matrices of registers into it, boxes of it into memory by the
// bulk copy engine, while the warpgroup goes on.

// Four matrices of 8 x 8, one beside or below another; lane i has the address of row i % 8 of matrix i / 8.
__device__ __forceinline__ void StoreMatrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}
// Likewise what has come into it, as pairs of 16 bits.
template <class Pair>
__device__ __forceinline__ void LoadMatrices(unsigned from, Pair* to) {
  unsigned words[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(from)
               : "memory");
  for (int i = 0; i < 4; ++i) to[i] = *reinterpret_cast<const Pair*>(&words[i]);
}
// All threads of the warpgroup come here before any goes on.
__device__ __forceinline__ void MeetWarpgroup(int warpgroup) {
  asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 3) : "memory");
}
// Begins to copy a box of shared memory to a [batch, row, column] tensor; what lies beyond its end is left out.
__device__ __forceinline__ void StoreBox(const TensorMap* map, int column, int row, int batch, unsigned from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(
                   reinterpret_cast<unsigned long>(map)),
               "r"(from), "r"(column), "r"(row), "r"(batch)
               : "memory");
}
__device__ __forceinline__ void CommitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until shared memory has been read by all but the last LEFT of the copies that this thread has committed.
template <int LEFT>
__device__ __forceinline__ void WaitForStores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
