// Products of small matrices on the tensor cores of compute capability 8.0, whose operands come straight from memory.

// d += a of 16 x 16 elements times b of 16 x 8.
template <class T>
__device__ __forceinline__ void MultiplyAdd(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);
template <>
__device__ __forceinline__ void MultiplyAdd<__nv_bfloat16>(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                                           unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <>
__device__ __forceinline__ void MultiplyAdd<__half>(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// 16 bytes that are read once; zeros where there is nothing to read. In the order of the program, so that they are on their
// way while other things are computed.
__device__ __forceinline__ void ReadOnce(unsigned (&to)[4], const void* from, bool there) {
  asm volatile(
      "{\n.reg .pred there;\nsetp.ne.b32 there, %5, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\nmov.b32 %2, 0;\nmov.b32 %3, 0;\n"
      "@there ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4];\n}"
      : "=&r"(to[0]), "=&r"(to[1]), "=&r"(to[2]), "=&r"(to[3])
      : "l"(from), "r"(static_cast<int>(there)));
}
// 8 bytes likewise.
__device__ __forceinline__ void ReadOnce(unsigned (&to)[2], const void* from, bool there) {
  asm volatile(
      "{\n.reg .pred there;\nsetp.ne.b32 there, %3, 0;\nmov.b32 %0, 0;\nmov.b32 %1, 0;\n"
      "@there ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%0, %1}, [%2];\n}"
      : "=&r"(to[0]), "=&r"(to[1])
      : "l"(from), "r"(static_cast<int>(there)));
}
