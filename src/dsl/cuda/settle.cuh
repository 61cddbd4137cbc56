// What products on the tensor cores leave in registers is there from here on: the compiler knows of no wait.
template <int N>
__device__ __forceinline__ void Settle(float (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(x[i])::"memory");
}
