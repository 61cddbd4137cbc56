// The same tiles, twice as deep and four of them in shared memory: three are on their way while one is multiplied.
// hone: launch product grid=16,32 block=256 shared=208896 args=a,b,y
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;
constexpr int kN = 4096, kDepth = 64, kLeft = kDepth + 8, kRight = 256 + 8;  // rows of shared memory, padded
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

__device__ void Copy(__half* to, const __half* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 1) product(const __half* a, const __half* b, __half* y) {
  constexpr int kStages = 4, kSteps = kN / kDepth;
  extern __shared__ __align__(16) __half tiles[];
  const int row = blockIdx.y * 128, column = blockIdx.x * 256, t = threadIdx.x;
  const int down = t / 128 * 64, across = t / 32 % 4 * 64;  // of the warp, in the tile
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][4];
#pragma unroll
  for (int i = 0; i < 16; ++i) wmma::fill_fragment(sum[i / 4][i % 4], 0.0f);
  const auto ask = [&](int step) {
    if (step < kSteps) {
      __half* stage = tiles + step % kStages * kStage;
      const int k = step * kDepth;
#pragma unroll
      for (int i = 0; i < 4; ++i)
        Copy(stage + (t / 8 + 32 * i) * kLeft + t % 8 * 8, a + (row + t / 8 + 32 * i) * kN + k + t % 8 * 8);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        Copy(stage + 128 * kLeft + (t / 32 + 8 * i) * kRight + t % 32 * 8,
             b + (k + t / 32 + 8 * i) * kN + column + t % 32 * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (int step = 0; step < kStages - 1; ++step) ask(step);
  for (int step = 0; step < kSteps; ++step) {
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    __syncthreads();
    ask(step + kStages - 1);
    const __half* stage = tiles + step % kStages * kStage;
    Multiply(sum, stage + down * kLeft, stage + 128 * kLeft + across);
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
