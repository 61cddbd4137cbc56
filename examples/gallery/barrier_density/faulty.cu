// Sums of rows: every round halves the threads that add, with a barrier before and after.
// hone: launch row_sums grid=extent(x,0) block=256 args=x,y,i32:extent(x,1)/4
extern "C" __global__ void __launch_bounds__(256) row_sums(const float4* x, float* y, int packs) {
  __shared__ float part[256];
  float sum = 0.0f;
#pragma unroll 1
  for (int i = threadIdx.x; i < packs; i += 256) {
    const float4 v = x[blockIdx.x * packs + i];
    part[threadIdx.x] = v.x + v.y + v.z + v.w;
    __syncthreads();
    if (threadIdx.x < 128) part[threadIdx.x] += part[threadIdx.x + 128];
    __syncthreads();
    if (threadIdx.x < 64) sum += part[threadIdx.x] + part[threadIdx.x + 64];
    __syncthreads();
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < 64; ++i) sum += part[i];
  y[blockIdx.x] = sum;
}
