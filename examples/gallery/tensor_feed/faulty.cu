// Tiles of 128 x 256 are loaded, waited for and multiplied in turn.
// hone: launch product grid=16,32 block=256 shared=27136 args=a,b,y
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
constexpr int kN = 4096, kDepth = 32, kLeft = kDepth + 8, kRight = 256 + 8;  // rows of shared memory, padded
constexpr int kStage = 128 * kLeft + kDepth * kRight;

// A step of the tiles in shared memory: a warp has 64 x 64 of the 128 x 256.
__device__ void Multiply(wmma::fragment<wmma::accumulator, 16, 16, 16, float> (&sum)[4][4], const __half* left,
                         const __half* right) {
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(a[i], left + 16 * i * kLeft + k, kLeft);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
      wmma::load_matrix_sync(b, right + k * kRight + 16 * j, kRight);
#pragma unroll
      for (int i = 0; i < 4; ++i) wmma::mma_sync(sum[i][j], a[i], b, sum[i][j]);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) product(const __half* a, const __half* b, __half* y) {
  extern __shared__ __align__(16) __half tiles[];
  const int row = blockIdx.y * 128, column = blockIdx.x * 256, t = threadIdx.x;
  const int down = t / 128 * 64, across = t / 32 % 4 * 64;  // of the warp, in the tile
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][4];
#pragma unroll
  for (int i = 0; i < 16; ++i) wmma::fill_fragment(sum[i / 4][i % 4], 0.0f);
  for (int k = 0; k < kN; k += kDepth) {
    uint4 v[6];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      v[i] = *reinterpret_cast<const uint4*>(a + (row + t / 4 + 64 * i) * kN + k + t % 4 * 8);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      v[2 + i] = *reinterpret_cast<const uint4*>(b + (k + t / 32 + 8 * i) * kN + column + t % 32 * 8);
#pragma unroll
    for (int i = 0; i < 2; ++i) *reinterpret_cast<uint4*>(tiles + (t / 4 + 64 * i) * kLeft + t % 4 * 8) = v[i];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      *reinterpret_cast<uint4*>(tiles + 128 * kLeft + (t / 32 + 8 * i) * kRight + t % 32 * 8) = v[2 + i];
    __syncthreads();
    Multiply(sum, tiles + down * kLeft, tiles + 128 * kLeft + across);
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      wmma::fragment<wmma::accumulator, 16, 16, 16, __half> rounded;
#pragma unroll
      for (int e = 0; e < rounded.num_elements; ++e) rounded.x[e] = __float2half(sum[i][j].x[e]);
      wmma::store_matrix_sync(y + (row + down + 16 * i) * kN + column + across + 16 * j, rounded, kN,
                              wmma::mem_row_major);
    }
  }
}
