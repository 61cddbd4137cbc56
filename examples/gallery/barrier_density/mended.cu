// Each thread adds what is its own; warps add by shuffles, once, and one barrier joins them.
// hone: launch row_sums grid=extent(x,0) block=256 args=x,y,i32:extent(x,1)/4
extern "C" __global__ void __launch_bounds__(256) row_sums(const float4* x, float* y, int packs) {
  __shared__ float part[8];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < packs; i += 256) {
    const float4 v = x[blockIdx.x * packs + i];
    sum += v.x + v.y + v.z + v.w;
  }
#pragma unroll
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < 8; ++warp) sum += part[warp];
    y[blockIdx.x] = sum;
  }
}
