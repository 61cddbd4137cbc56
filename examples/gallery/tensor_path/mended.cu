// The same tiles by mma.sync: a warp has 16 x 32 of the 64 x 64.
// hone: launch product grid=64,64 block=256 args=a,b,y
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
extern "C" __global__ void __launch_bounds__(256) product(const __half* a, const __half* b, __half* y) {
  constexpr int kN = 4096;
  const int warp = threadIdx.x / 32, row = blockIdx.y * 64 + warp / 2 * 16, column = blockIdx.x * 64 + warp % 2 * 32;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2];
  wmma::fill_fragment(sum[0], 0.0f);
  wmma::fill_fragment(sum[1], 0.0f);
  for (int k = 0; k < kN; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::load_matrix_sync(left, a + row * kN + k, kN);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
      wmma::load_matrix_sync(right, b + k * kN + column + 16 * j, kN);
      wmma::mma_sync(sum[j], left, right, sum[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> rounded;
#pragma unroll
    for (int i = 0; i < rounded.num_elements; ++i) rounded.x[i] = __float2half(sum[j].x[i]);
    wmma::store_matrix_sync(y + row * kN + column + 16 * j, rounded, kN, wmma::mem_row_major);
  }
}
