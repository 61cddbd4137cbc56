// Tiles of 64 x 64 by multiply-adds of floats, 4 x 4 a thread.
// hone: launch product grid=64,64 block=256 args=a,b,y
#include <cuda_fp16.h>
extern "C" __global__ void __launch_bounds__(256) product(const __half* a, const __half* b, __half* y) {
  constexpr int kN = 4096;
  __shared__ float left[16][64], right[16][64];
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  float sum[4][4] = {};
  for (int k = 0; k < kN; k += 16) {
    for (int i = threadIdx.x; i < 16 * 64; i += 256) {
      left[i % 16][i / 16] = __half2float(a[(blockIdx.y * 64 + i / 16) * kN + k + i % 16]);
      right[i / 64][i % 64] = __half2float(b[(k + i / 64) * kN + blockIdx.x * 64 + i % 64]);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < 16; ++d) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] = fmaf(left[d][row + i], right[d][column + j], sum[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j)
      y[(blockIdx.y * 64 + row + i) * kN + blockIdx.x * 64 + column + j] = __float2half(sum[i][j]);
  }
}
