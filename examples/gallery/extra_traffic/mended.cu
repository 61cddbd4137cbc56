// The row stays in shared memory: it is read once.
// hone: launch centred grid=1056 block=1024 shared=196608 args=x,y
extern "C" __global__ void __launch_bounds__(1024) centred(const float4* x, float4* y) {
  constexpr int kPacks = 49152 / 4;
  extern __shared__ float4 kept[];
  __shared__ float parts[32];
  const float4* row = x + blockIdx.x * kPacks;
  float sum = 0.0f;
#pragma unroll 6
  for (int i = threadIdx.x; i < kPacks; i += 1024) {
    const float4 v = row[i];
    kept[i] = v;
    sum += (v.x + v.y) + (v.z + v.w);
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  float mean = 0.0f;
#pragma unroll
  for (int i = 0; i < 32; ++i) mean += parts[i];
  mean /= 49152;
#pragma unroll 6
  for (int i = threadIdx.x; i < kPacks; i += 1024) {
    const float4 v = kept[i];
    y[blockIdx.x * kPacks + i] = make_float4(v.x - mean, v.y - mean, v.z - mean, v.w - mean);
  }
}
