// Tiles that lie across K: 64 rows are a box of 64 lines of K, 128 bytes each, swizzled in groups of eight lines; the
// next 64 rows are the next box. wgmma is told to turn them.
__device__ __forceinline__ unsigned long AcrossDescriptor(unsigned address) {
  return static_cast<unsigned long>((address & 0x3ffff) >> 4) | (512ul << 16) | (64ul << 32) | (1ul << 62);
}
